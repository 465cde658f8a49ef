//! The hash against a second implementation of it, a dozen lines of shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use loci::loadout::{digest, surface::Surface};

use crate::sandbox::Sandbox;

const SCRIPT: &str = include_str!("loci1.sh");

fn by_shell(base: &Path, pieces: &[&str]) -> String {
    let output = Command::new("bash").args(["-c", SCRIPT, "loci1"]).arg(base).args(pieces).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn by_crate(base: &Path, pieces: &[&str]) -> String {
    let surface = Surface { files: pieces.iter().map(Into::into).collect(), ..Surface::default() };
    digest::of(base, &surface).unwrap()
}

#[test]
fn the_shell_and_the_crate_agree_on_hostile_trees() {
    let world = Sandbox::new();
    let raw = |bytes: &'static [u8]| Path::new("t/d").join(OsStr::from_bytes(bytes));
    world
        .file("t/f", "")
        .file(raw(b"new\nline"), "1")
        .file(raw(b" space "), "2\n\n")
        .file(raw(b"-dash"), "3")
        .file(raw(b"not-utf8-\xff\xfe"), [0_u8, 255, 10])
        .file(raw(b"quote'\"\\$(x)`"), "4")
        .file(raw(b"sub/a"), "5")
        .file(raw(b"sub.md"), "6")
        .file(raw(b"sub-x"), "7")
        .exec(raw(b"run"), "8")
        .link(raw(b"to"), Path::new(OsStr::from_bytes(b"no\nwhere\xff\n")))
        .link(raw(b"dirlink"), "sub")
        .dir("t/d/empty/er")
        .file("t/big", vec![7; 300_000])
        .link("t/l", "d");
    for n in 0..200 {
        world.file(format!("t/many/{}/{n}", n % 7), format!("{n}"));
    }
    let base = world.path("t");
    for pieces in [&["f", "d", "l", "big", "missing"][..], &["many", "d"], &["l"], &["missing"], &["d", "d/sub"]] {
        assert_eq!(by_crate(&base, pieces), by_shell(&base, pieces), "{pieces:?}");
    }
    // It can see: one byte, one bit of mode.
    let before = by_shell(&base, &["d"]);
    world.exec("t/d/sub/a", "5");
    assert_ne!(by_shell(&base, &["d"]), before);
    assert_ne!(by_crate(&base, &["d"]), before);
}

#[test]
fn the_hash_is_the_one_that_was_published() {
    let world = Sandbox::new();
    world.file("t/CLAUDE.md", "me").exec("t/.claude/hooks/h.sh", "h").link("t/.claude/rules", "../pool");
    let pieces = ["CLAUDE.md", ".claude/hooks", ".claude/rules"];
    assert_eq!(by_crate(&world.path("t"), &pieces), "loci1:cfba1c5e099c8c8dbd5373a6b24566ee6921b8a0c484cec56c94830aca3e4970");
}

#[test]
fn the_documents_print_the_same_script() {
    let formats = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMATS.md")).unwrap();
    assert!(formats.contains(SCRIPT.trim_end()), "docs/FORMATS.md has another script");
    assert!(SCRIPT.lines().count() <= 15);
}
