//! Reading shell commands: bounds, git, and the verbs and hooks that show what was read.

mod arriving;
mod fuzz;
mod git;
mod verbs;
