//! The world behind the shell reader where commands are made up.

use std::path::{Path, PathBuf};

use loci::custody::shell::{GitAnswer, Kind, Meta, Packed, World};

/// A disk of a few files, without any real one behind it.
pub(crate) struct Toy;

impl World for Toy {
    fn meta(&self, path: &Path) -> Option<Meta> {
        let p = path.to_string_lossy();
        let kind = match p.as_ref() {
            "/" | "/r" | "/r/owned" | "/r/free" | "/r/owned/sub" | "/r/.git" => Kind::Dir,
            "/r/l" | "/r/loop" => Kind::Link,
            _ if p.starts_with("/r/") && p.matches('/').count() < 5 && p.contains('.') => Kind::File,
            _ => return None,
        };
        Some(Meta { kind, len: 10, mtime: 5, mode: 0o755 })
    }
    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        if path.ends_with("loop") { Some("loop".into()) } else { Some("owned".into()) }
    }
    fn list(&self, dir: &Path, _max: usize) -> Option<Vec<(String, Kind)>> {
        self.meta(dir).filter(|m| m.kind == Kind::Dir)?;
        Some(vec![("a.txt".into(), Kind::File), ("sub".into(), Kind::Dir), ("l".into(), Kind::Link), ("b.sh".into(), Kind::File)])
    }
    fn read(&self, path: &Path, _max: usize) -> Option<Vec<u8>> {
        self.meta(path)?;
        Some(if path.ends_with("b.sh") {
            b"#!/bin/sh\n. ./b.sh; ./b.sh; echo $(cat a.txt)\n".to_vec()
        } else {
            b"owned/a.txt\nfree/x.txt\n".to_vec()
        })
    }
    fn unpack(&self, _: &[u8], _: Packed) -> Option<Vec<u8>> {
        None
    }
    fn git(&self, _: &Path, args: &[&str], _: &[(String, String)]) -> Option<GitAnswer> {
        Some(GitAnswer { ok: !args.contains(&"x"), stdout: b"owned/a.txt\0free/x.txt\0".to_vec() })
    }
    fn now(&self) -> i64 {
        100
    }
}
