//! Custody held by the kernel: which mounts a command runs under, what it tried, what becomes of that.
//!
//! [`scan()`] reads the tree, [`plan()`] decides which mounts hold what was found, [`crate::sys::jail`]
//! makes them and runs the command, [`hear`] tells what of its calls the kernel refuses, and [`cause`]
//! says why there is no jail on this machine. [`standing`] is
//! whether there is one at all, [`calls`] what the gate and the relay after a call tell each
//! other about one, and [`witness`] looks at what has changed where nothing could be held. The judge is asked about each place, so that reading and
//! kernel can't differ about whose something is.

pub mod calls;
pub mod cause;
pub mod harvest;
pub mod hear;
mod links;
pub mod plan;
pub mod scan;
pub mod standing;
mod top;
pub mod witness;

pub use plan::{Planned, Point, Use, Zone, plan};
pub use scan::{Found, scan};
pub use top::top;
