//! libFuzzer over the target `front-matter`.
#![no_main]

#[path = "../../it/fuzz/targets.rs"]
mod targets;
#[path = "../../it/fuzz/toy.rs"]
mod toy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::run("front-matter", data));
