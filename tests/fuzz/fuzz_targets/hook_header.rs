//! libFuzzer over the target `hook-header`.
#![no_main]

#[path = "../../it/fuzz/targets.rs"]
mod targets;
#[path = "../../it/fuzz/toy.rs"]
mod toy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("hook-header", data));
