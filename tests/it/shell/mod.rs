//! Reading shell commands: bounds, git, and the verbs and hooks that show what was read.

mod fuzz;
mod git;
mod verbs;
