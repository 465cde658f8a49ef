//! Whose it is: owners, acts, the judge, delegations and inboxes.

pub mod act;
