//! Holds that the list of functions that are linked side by side speaks of the program as it is.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// A symbol as `tests/bench/startup-order` writes it: without what belongs to one compiler and one build.
fn plain(symbol: &str) -> &str {
    match symbol.rfind("17h") {
        Some(at) if symbol.starts_with("_ZN") => &symbol[..at],
        _ => symbol,
    }
}

/// The functions of ours that a list names and that a program doesn't have.
fn gone<'a>(order: &'a str, program: &[u8]) -> Vec<&'a str> {
    // A symbol stands in the table of a program as it is, between two zero bytes.
    let has: HashSet<&str> = program
        .split(|byte| *byte == 0)
        .filter(|word| word.starts_with(b"_ZN4loci"))
        .filter_map(|word| std::str::from_utf8(word).ok())
        .map(plain)
        .collect();
    order.lines().filter(|name| name.starts_with("_ZN4loci")).map(plain).filter(|name| !has.contains(name)).collect()
}

#[test]
fn the_functions_of_the_gate_are_still_there() {
    let order = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/startup.order")).unwrap();
    let ours = order.lines().filter(|name| name.starts_with("_ZN4loci")).count();
    let gone = gone(&order, &fs::read(env!("CARGO_BIN_EXE_loci")).unwrap());
    // Moving one function is no reason to link anew; a room that moved is.
    assert!(
        ours > 100 && gone.len() * 10 <= ours,
        "of {ours} functions in src/startup.order {} are no longer in the program, so that the gate starts slower than it could; \
         run tests/bench/startup-order:\n{}",
        gone.len(),
        gone.join("\n")
    );
}

#[test]
fn the_check_can_see() {
    let order = "# words\n_ZN4loci1a17h*\n_ZN4loci1b17h*\n_ZN4core1c17h*\n";
    assert_eq!(gone(order, b"\x7fELF\0_ZN4loci1a17h0123456789abcdefE\0_ZN4loci2bb17h0123456789abcdefE\0"), ["_ZN4loci1b"]);
}
