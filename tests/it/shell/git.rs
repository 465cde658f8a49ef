//! A repository that names programs for everything it can: asking it runs none of them and leaves nothing
//! behind.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use loci::custody::shell::{self, Input, Words};
use loci::custody::world::Machine;

use crate::sandbox::Sandbox;

fn git(dir: &Path, args: &[&str]) {
    let ok = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .is_ok_and(|o| o.status.success());
    assert!(ok, "git {args:?}");
}

fn objects(dir: &Path) -> usize {
    let mut n = 0;
    let mut stack = vec![dir.join(".git/objects")];
    while let Some(d) = stack.pop() {
        for e in std::fs::read_dir(d).into_iter().flatten().flatten() {
            if e.path().is_dir() { stack.push(e.path()) } else { n += 1 }
        }
    }
    n
}

#[test]
fn asking_runs_nothing_of_the_repository() {
    if !crate::cases::shell::missing().is_empty() {
        eprintln!("not run: git is not here");
        return;
    }
    let world = Sandbox::new();
    let base = world.path("home");
    let dir = base.join("r");
    std::fs::create_dir_all(dir.join("owned")).unwrap();
    let trap = base.join("RAN");
    git(&dir, &["init", "-q", "-b", "main"]);
    std::fs::write(dir.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
    std::fs::write(dir.join("owned/a"), "a\n").unwrap();
    std::fs::write(dir.join("b"), "b\n").unwrap();
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "1"]);
    git(&dir, &["checkout", "-qb", "other"]);
    std::fs::write(dir.join("owned/a"), "a2\n").unwrap();
    git(&dir, &["commit", "-qam", "2"]);
    git(&dir, &["checkout", "-q", "main"]);
    std::fs::write(dir.join("b"), "changed\n").unwrap();
    let run = format!("sh -c 'echo x >> {}'", trap.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "core.askPass",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "gpg.program",
        "credential.helper",
        "alias.diff",
        "alias.status",
        "pager.diff",
        "pager.status",
        "pager.log",
        "sequence.editor",
        "uploadpack.packObjectsHook",
        "interactive.diffFilter",
        "ssh.variant",
    ] {
        git(&dir, &["config", key, &run]);
    }
    git(&dir, &["config", "filter.evil.required", "true"]);
    git(&dir, &["config", "log.showSignature", "true"]);
    let hooks = dir.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for h in ["post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"] {
        std::fs::write(hooks.join(h), format!("#!/bin/sh\necho {h} >> {}\n", trap.display())).unwrap();
        let _ = Command::new("chmod").arg("+x").arg(hooks.join(h)).status();
    }
    let _ = std::fs::remove_file(&trap);
    let before = (objects(&dir), std::fs::read(dir.join(".git/index")).unwrap());
    let env = BTreeMap::new();
    let mut refused = 0;
    for command in [
        "git checkout other",
        "git merge other",
        "git reset --hard",
        "git stash",
        "git stash pop",
        "git clean -fdx",
        "git rebase other",
        "git cherry-pick other",
        "git rm -r owned",
        "git restore .",
        "git add -A",
        "git commit -am x",
        "git diff | cat",
        "git log -p | cat",
        "git show other | git apply",
        "git grep -l a | xargs rm",
        "git ls-files -m | xargs rm",
        "git pull",
        "git read-tree -u -m HEAD other",
        "git status --porcelain | cat",
        "git bisect start main other",
        "git sparse-checkout set x",
        "git format-patch --stdout main..other | git am",
        "git x",
    ] {
        let disk = Machine::new();
        let r = shell::read(&Input { command: Words::Script(command), cwd: &dir, env: &env, home: None }, &disk);
        refused += usize::from(r.acts.iter().any(|found| found.act.path.starts_with(dir.join("owned"))));
        assert!(!trap.exists(), "{command} ran {:?}", std::fs::read_to_string(&trap));
    }
    assert!(refused >= 5, "the questions were answered: {refused}");
    assert_eq!(before.0, objects(&dir), "no object is left");
    assert!(before.1 == std::fs::read(dir.join(".git/index")).unwrap(), "the index is untouched");
    // the trap can be seen: git itself falls into it
    let _ = Command::new("git").current_dir(&dir).args(["diff", "--stat"]).output();
    let _ = Command::new("git").current_dir(&dir).args(["status"]).output();
    assert!(trap.exists(), "the planted programs would have run");
}
