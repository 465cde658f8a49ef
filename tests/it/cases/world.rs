//! The tree of a case: built as the case says, looked at afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use crate::sandbox::Sandbox;

/// A case's tree on disk.
pub(crate) struct World {
    sandbox: Sandbox,
}

impl World {
    /// Builds the `tree` of a case and runs its `setup`.
    pub(crate) fn build(case: &Value) -> Self {
        let world = Self { sandbox: Sandbox::new() };
        fs::create_dir(world.root()).unwrap();
        if let Some(tree) = case["tree"].as_object() {
            world.edit(tree);
        }
        for command in case["setup"].as_array().into_iter().flatten() {
            let words: Vec<&str> = command.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
            let status = Command::new(words[0]).args(&words[1..]).current_dir(world.root()).status().unwrap();
            assert!(status.success(), "{words:?}");
        }
        world
    }

    /// The root of the tree.
    pub(crate) fn root(&self) -> PathBuf {
        self.sandbox.path("t")
    }

    /// The machine-local state folder, beside the tree.
    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.path("state/loci")
    }

    /// A path of the case.
    pub(crate) fn path(&self, rel: &str) -> PathBuf {
        if rel == "." { self.root() } else { self.root().join(rel) }
    }

    /// A path of the case that may be `null`.
    pub(crate) fn optional(&self, rel: &Value) -> Option<PathBuf> {
        rel.as_str().map(|rel| self.path(rel))
    }

    /// A path on disk as the case spells it; `None` outside of the tree.
    pub(crate) fn spelled(&self, path: &Path) -> Option<String> {
        let rel = path.strip_prefix(self.root()).ok()?.to_str()?;
        Some(if rel.is_empty() { "." } else { rel }.to_owned())
    }

    /// Writes, links, makes and removes what an object of the format of `tree` says.
    pub(crate) fn edit(&self, entries: &Map<String, Value>) {
        for (rel, what) in entries {
            let path = self.path(rel);
            match what {
                Value::Null => {
                    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
                }
                Value::String(text) => self.write(&path, text.as_bytes()),
                Value::Object(what) => self.special(&path, what),
                other => panic!("{rel}: {other}"),
            }
        }
    }

    fn write(&self, path: &Path, data: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, data).unwrap();
    }

    fn special(&self, path: &Path, what: &Map<String, Value>) {
        let text = |key: &str| what[key].as_str().unwrap();
        if what.contains_key("dir") {
            fs::create_dir_all(path).unwrap();
        } else if what.contains_key("symlink") {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(text("symlink"), path).unwrap();
        } else if what.contains_key("exec") {
            self.write(path, text("exec").as_bytes());
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        } else if what.contains_key("bytes") {
            self.write(path, &base64(text("bytes")));
        } else if what.contains_key("repeat") {
            let count = usize::try_from(what["repeat"][1].as_u64().unwrap()).unwrap();
            let head = what.get("head").and_then(Value::as_str).unwrap_or_default();
            self.write(path, (head.to_owned() + &what["repeat"][0].as_str().unwrap().repeat(count)).as_bytes());
        } else if what.contains_key("touch") {
            let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
            fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        } else {
            panic!("{}: {what:?}", path.display());
        }
    }

    /// The tree as it is: path → content, `-> target`, or `dir`.
    pub(crate) fn snapshot(&self) -> std::collections::BTreeMap<PathBuf, String> {
        self.sandbox.snapshot("t")
    }
}

/// Decodes base64 with padding.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut out) = (0_u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|one| *one == byte).unwrap();
        bits = bits << 6 | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    out
}
