//! The seeds of the fuzz targets, run through them as plain tests.

pub(crate) mod rng;
mod targets;
pub(crate) mod toy;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz")
}

/// Each seed, and the texts that recordings and cases of other tests have.
fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let listed = fs::read_dir(folder().join(name)).map(|entries| entries.map(|entry| entry.unwrap().path()).collect());
    let mut paths: Vec<PathBuf> = listed.unwrap_or_default();
    if name == "envelope" {
        let recorded = walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/harness"));
        let files = recorded.into_iter().flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "json"));
        paths.extend(files.map(walkdir::DirEntry::into_path));
    }
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn every_target_has_seeds_and_every_seed_a_target() {
    for (name, _) in targets::ALL {
        assert!(seeds(name).len() >= 3, "{name} has {} seeds", seeds(name).len());
    }
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(targets::ALL.iter().any(|(one, _)| name == *one), "fixtures/fuzz/{} is no target's", name.display());
    }
}

/// Each seed as it is, and cut off at some places.
#[test]
fn no_seed_breaks_its_target() {
    let mut faults = Vec::new();
    for (name, _) in targets::ALL {
        for (path, data) in seeds(name) {
            let step = (data.len() / 4).max(1);
            for end in (0..=data.len()).step_by(step).chain([data.len()]) {
                if catch_unwind(AssertUnwindSafe(|| targets::run(name, &data[..end]))).is_err() {
                    faults.push(format!("{name}: the first {end} bytes of {}", path.display()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
