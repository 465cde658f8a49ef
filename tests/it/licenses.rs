//! The licences of all that is built: docs/licenses.md names each package of Cargo.lock, and each one's fits ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What may be built in without more than its text being passed on.
const FINE: [&str; 8] = ["MIT", "Apache-2.0", "BSD-3-Clause", "ISC", "Zlib", "CC0-1.0", "Unicode-3.0", "Unlicense"];
/// May be chosen where something else may be as well; never needed.
const CHOICES: [&str; 4] = ["0BSD", "BSL-1.0", "LGPL-2.1-or-later", "Apache-2.0 WITH LLVM-exception"];

const PAGE: &str = "docs/licenses.md";

/// Name and version of every package of Cargo.lock that comes from elsewhere.
fn locked(text: &str) -> BTreeSet<(String, String)> {
    let field = |block: &str, key: &str| {
        block.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.trim_end_matches('"').to_owned()))
    };
    let blocks = text.split("[[package]]").filter(|block| field(block, "source").is_some());
    blocks.map(|block| (field(block, "name").unwrap(), field(block, "version").unwrap())).collect()
}

/// The rows of the page: name and version, and the licence.
fn rows(page: &str) -> BTreeMap<(String, String), String> {
    let cells = page.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| ((cells[1].trim_matches('`').to_owned(), cells[2].to_owned()), cells[3].to_owned())).collect()
}

/// Whether one can comply with an expression by licences that are fine: an AND needs each part, an OR one of them.
fn fits(expression: &str) -> bool {
    let known = |word: &str| {
        let word = word.trim().trim_matches(['(', ')']);
        assert!(FINE.contains(&word) || CHOICES.contains(&word), "a licence that nobody has looked at: {word}");
        FINE.contains(&word)
    };
    let one = |part: &str| part.replace('/', " OR ").split(" OR ").map(known).collect::<Vec<_>>().contains(&true);
    expression.split(" AND ").all(one)
}

fn tree(cargo: &str, args: &[&str]) -> BTreeSet<String> {
    let args = [&["tree", "--locked", "--prefix", "none", "--format", "{p}", "--target", "x86_64-unknown-linux-gnu"], args].concat();
    let run = Command::new(cargo).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let words = String::from_utf8(run.stdout).unwrap();
    words.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// The page, from what cargo knows.
fn written() -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let run = Command::new(&cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&run.stdout).unwrap();
    let (program, build, all) =
        (tree(&cargo, &["-e", "normal,no-proc-macro"]), tree(&cargo, &["-e", "normal,build"]), tree(&cargo, &["-e", "normal,build,dev"]));
    let mut page = "# Licences\n\nloci is MIT OR Apache-2.0, at your option. What it is built from, from `Cargo.lock`; a test holds that the list is whole and that each \
        licence is one that has been looked at. *program*: code of it is in the program on Linux; *build*: only used while it is built; *tests*: only by tests and \
        benches; *elsewhere*: only on other systems, or not at all.\n\nWhere a choice is given, MIT or Apache-2.0 is taken. The others ask for no more than that \
        their text goes along.\n\n| package | version | licence | in |\n|---|---|---|---|\n"
        .to_owned();
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap().iter().filter(|package| !package["source"].is_null()) {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        found.insert((text("name"), text("version")), text("license"));
    }
    for ((name, version), licence) in found {
        let key = format!("{name} v{version}");
        let places = [(&program, "program"), (&build, "build"), (&all, "tests")];
        let place = places.iter().find(|(set, _)| set.contains(&key)).map_or("elsewhere", |(_, word)| word);
        let _ = writeln!(page, "| `{name}` | {version} | {licence} | {place} |");
    }
    page
}

#[test]
fn every_package_has_a_licence_that_fits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("LOCI_WRITE_DOCS").is_some() {
        fs::write(root.join(PAGE), written()).unwrap();
    }
    let page = rows(&fs::read_to_string(root.join(PAGE)).unwrap());
    let lock = locked(&fs::read_to_string(root.join("Cargo.lock")).unwrap());
    let missing: Vec<_> = lock.iter().filter(|key| !page.contains_key(*key)).collect();
    let gone: Vec<_> = page.keys().filter(|key| !lock.contains(*key)).collect();
    let again = "to write it anew: LOCI_WRITE_DOCS=1 cargo test --test it licenses";
    assert!(missing.is_empty() && gone.is_empty(), "{PAGE} lacks {missing:?} and has {gone:?} too much; {again}");
    for ((name, _), licence) in &page {
        assert!(fits(licence), "{name}: {licence}");
    }
}

#[test]
fn the_check_can_see() {
    let lock = "[[package]]\nname = \"own\"\nversion = \"1\"\n\n[[package]]\nname = \"a\"\nversion = \"2\"\nsource = \"registry\"\n";
    assert_eq!(locked(lock), [("a".to_owned(), "2".to_owned())].into());
    assert_eq!(rows("| package |\n|---|\n| `a` | 2 | MIT | program |\n")[&("a".to_owned(), "2".to_owned())], "MIT");
    assert!(
        fits("MIT")
            && fits("Unlicense/MIT")
            && fits("MIT OR Apache-2.0 OR LGPL-2.1-or-later")
            && fits("(MIT OR Apache-2.0) AND Unicode-3.0")
    );
    assert!(!fits("LGPL-2.1-or-later") && !fits("MIT AND BSL-1.0"));
    assert!(std::panic::catch_unwind(|| fits("GPL-3.0")).is_err());
}
