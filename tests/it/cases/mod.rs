//! The case files: one test a file, each case reported by its id.
//!
//! They are taken from `LOCI_CASES` (default `fixtures/cases`) by prefix, so other files of the same
//! format can be run without touching the code.

mod clock;
pub(crate) mod filetool;
mod forest;
mod loadout;
mod resolver;
pub(crate) mod shell;
pub(crate) mod world;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder that the case files are taken from.
fn folder() -> PathBuf {
    std::env::var_os("LOCI_CASES").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases"), PathBuf::from)
}

/// All cases of the files `PREFIX-*.jsonl`, in the order of names and lines.
pub(crate) fn load(prefix: &str) -> Vec<Value> {
    files(prefix).into_iter().flat_map(|(_, cases)| cases).collect()
}

/// The files `PREFIX-*.jsonl` in the order of their names, each with its cases.
pub(crate) fn files(prefix: &str) -> Vec<(String, Vec<Value>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(&format!("{prefix}-")) && name.ends_with(".jsonl")
        })
        .collect();
    files.sort();
    let read = |file: &PathBuf| -> Vec<Value> {
        let text = fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).collect()
    };
    files.iter().map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), read(file))).collect()
}

/// The public case files are kept byte for byte: compared with `LOCI_CASES_UPSTREAM` where it is set.
#[test]
fn files_are_as_published() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let Some(upstream) = std::env::var_os("LOCI_CASES_UPSTREAM") else {
        assert!(!load("resolver").is_empty(), "no resolver cases in {}", here.display());
        return;
    };
    for name in ["resolver-public.jsonl", "filetool-public.jsonl", "shell-public.jsonl", "clock-public.jsonl"] {
        assert!(fs::read(here.join(name)).unwrap() == fs::read(Path::new(&upstream).join(name)).unwrap(), "{name} differs");
    }
}
