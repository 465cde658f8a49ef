#![expect(clippy::disallowed_methods, reason = "the tests lay files out themselves")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::*;

/// A directory for one test; gone when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp").join(format!("deliverable-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("job/out")).unwrap();
        Self(fs::canonicalize(dir).unwrap())
    }

    fn dir(&self) -> PathBuf {
        self.0.join("job")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.dir().join(path), text).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn file(path: &str) -> Deliverable {
    Deliverable { path: path.into(), ..Deliverable::default() }
}

/// What is said about one deliverable after `act`; empty: nothing is missing.
fn after(one: &Deliverable, scratch: &Scratch, act: impl FnOnce()) -> String {
    let wanted = std::slice::from_ref(one);
    let before = take(&scratch.dir(), wanted);
    act();
    judge(&scratch.dir(), wanted, &before).first().map_or_else(String::new, ToString::to_string)
}

#[test]
fn only_a_fresh_file_with_something_in_it_counts() {
    let scratch = Scratch::new("fresh");
    let one = file("out/r.md");
    assert!(after(&one, &scratch, || {}).contains("not there"));
    assert_eq!(after(&one, &scratch, || scratch.write("out/r.md", "x")), "");
    assert!(after(&one, &scratch, || {}).contains("older than the run"));
    // The same text written anew is fresh, unless the job wants another one.
    let rewrite = || {
        fs::remove_file(scratch.dir().join("out/r.md")).unwrap();
        scratch.write("out/r.md.new", "x");
        fs::rename(scratch.dir().join("out/r.md.new"), scratch.dir().join("out/r.md")).unwrap();
    };
    assert_eq!(after(&one, &scratch, rewrite), "");
    assert!(after(&Deliverable { changed: true, ..one.clone() }, &scratch, rewrite).contains("same content"));
    assert!(after(&one, &scratch, || scratch.write("out/r.md", "")).contains("empty"));
    let keep = Deliverable { min_bytes: 0, ..file("out/.keep") };
    assert_eq!(after(&keep, &scratch, || scratch.write("out/.keep", "")), "");
    let long = Deliverable { min_bytes: 5, ..file("out/l") };
    assert!(after(&long, &scratch, || scratch.write("out/l", "1234")).contains("has 4 bytes, 5 wanted"));
}

/// A stamp is compared with a stamp: a file that pretends to be old is fresh all the same.
#[test]
fn wall_times_are_never_compared() {
    let scratch = Scratch::new("times");
    let made = after(&file("out/r.md"), &scratch, || {
        scratch.write("out/r.md", "x");
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(scratch.dir().join("out/r.md")).unwrap().set_modified(old).unwrap();
    });
    assert_eq!(made, "");
}

#[test]
fn what_leads_out_or_is_no_file_does_not_count() {
    let scratch = Scratch::new("out");
    fs::write(scratch.0.join("elsewhere"), "x").unwrap();
    let link = |target: &str| {
        let _ = fs::remove_file(scratch.dir().join("out/r.md"));
        std::os::unix::fs::symlink(target, scratch.dir().join("out/r.md")).unwrap();
    };
    let one = file("out/r.md");
    assert!(after(&one, &scratch, || link("../../elsewhere")).contains("leads out"));
    assert!(after(&one, &scratch, || link("nowhere")).contains("nowhere"));
    scratch.write("real", "x");
    assert_eq!(after(&one, &scratch, || link("../real")), "", "a link that stays inside is a file");
    assert!(after(&file("out"), &scratch, || {}).contains("no regular file"));
    // A linked folder that leads out.
    fs::create_dir(scratch.0.join("far")).unwrap();
    fs::write(scratch.0.join("far/x.png"), "x").unwrap();
    std::os::unix::fs::symlink("../far", scratch.dir().join("pics")).unwrap();
    assert!(after(&file("pics/x.png"), &scratch, || {}).contains("leads out"));
    assert!(after(&file("pics/*.png"), &scratch, || {}).contains("0 fresh"));
}

#[test]
fn content_is_looked_at_where_the_job_says_so() {
    let scratch = Scratch::new("content");
    let wanted = Deliverable { json: true, ..file("out/r.json") };
    assert!(after(&wanted, &scratch, || scratch.write("out/r.json", "{\"a\":1")).contains("not JSON"));
    assert_eq!(after(&wanted, &scratch, || scratch.write("out/r.json", "{\"a\":1}")), "");
    let wanted = Deliverable { matches: Some("^## Result$".into()), ..file("out/r.md") };
    assert!(after(&wanted, &scratch, || scratch.write("out/r.md", "no ## Result")).contains("matches"));
    assert_eq!(after(&wanted, &scratch, || scratch.write("out/r.md", "# T\n## Result\nyes\n")), "");
}

#[test]
fn a_pattern_counts_fresh_files_only() {
    let scratch = Scratch::new("glob");
    scratch.write("out/p1.png", "x");
    let wanted = Deliverable { count: Some(count(&json!(">=3")).unwrap()), ..file("out/*.png") };
    let said = after(&wanted, &scratch, || {
        scratch.write("out/p2.png", "x");
        scratch.write("out/p3.png", "x");
        scratch.write("out/p4.txt", "x");
        scratch.write("out/p5.png", "");
    });
    assert!(said.contains("2 fresh of 4 there, 3 or more wanted"), "{said}");
    assert_eq!(
        after(&file("**/*.deep"), &scratch, || {
            fs::create_dir_all(scratch.dir().join("a/b/c")).unwrap();
            scratch.write("a/b/c/x.deep", "x");
        }),
        ""
    );
    assert!(any_match(&scratch.dir(), "out/*").unwrap() && !any_match(&scratch.dir(), "inbox/*").unwrap());
}

#[test]
fn counts() {
    let holds = |text: &str, number: u64| count(&json!(text)).unwrap().holds(number);
    assert!(
        holds(">=3", 3) && !holds(">=3", 2) && holds(">2", 3) && !holds("<3", 3) && holds("<=3", 0) && holds("==3", 3) && !holds("3", 4)
    );
    assert!(count(&json!(3)).unwrap().holds(3));
    for odd in ["", ">=", "=>3", "many", "<0", "-1"] {
        assert!(count(&json!(odd)).is_err(), "{odd}");
    }
}
