//! Whole programs inside: what people run all day.

use std::process::Command;

use super::{World, as_each, skipped, there};
use crate::sandbox::Run;

#[test]
fn git_all_of_it() {
    as_each(|world| {
        let before = world.theirs();
        let script = "set -e; git status --short > /dev/null; echo 1 > free/new; git add free; git commit -qm one; git branch side; git switch -q side; \
            echo 2 > free/new; git commit -qam two; git switch -q main; git merge -q side; git rebase -q main; echo 3 > free/new; git stash -q; git stash pop -q; \
            git restore free; git log -p > /dev/null; git fsck > /dev/null 2>&1; git gc -q; git worktree add -q ../tree; git worktree remove ../tree; echo ok";
        assert_eq!(world.run(script).exits(0).stdout, "ok\n");
        // What would change bob's files fails, and leaves git's own files whole.
        let script = "git config --local x.y z; git rm -q bob/x.txt; git checkout -q HEAD -- .; git status --porcelain";
        let run = world.run(script);
        assert!(before == world.theirs(), "{run:?}");
        assert!(Run::of(&mut world.shell("git fsck && git status --porcelain | grep -v '^??'"), None).code.is_some());
    });
}

#[test]
fn make_with_its_job_server() {
    if !there("make") {
        return skipped("`make` is not there");
    }
    as_each(|world| {
        let makefile = "all: a b c d\n\t@cat a b c d\na b c d:\n\t@$(MAKE) -s --no-print-directory -f Makefile.sub $@.o && echo $@ > $@\n";
        world.world().file("home/repo/free/Makefile", makefile);
        world.world().file("home/repo/free/Makefile.sub", "%.o:\n\t@echo $@ > $@\n");
        world.own();
        assert_eq!(world.run("cd free && make -s -j4 2>&1").exits(0).stdout, "a\nb\nc\nd\n");
    });
}

#[test]
fn python_tests_with_files_and_processes() {
    if !there("python3") {
        return skipped("`python3` is not there");
    }
    as_each(|world| {
        let test = "import unittest, tempfile, subprocess, sqlite3, os, threading\n\
            class T(unittest.TestCase):\n\
            \x20 def test_files(self):\n\
            \x20   with tempfile.TemporaryDirectory() as d:\n\
            \x20     open(os.path.join(d, 'x'), 'w').write('x')\n\
            \x20     self.assertEqual(subprocess.check_output(['cat', os.path.join(d, 'x')]), b'x')\n\
            \x20 def test_read(self): self.assertEqual(open('bob/x.txt').read(), 'bob1\\n')\n\
            \x20 def test_refused(self):\n\
            \x20   with self.assertRaises(OSError) as e: open('bob/x.txt', 'w')\n\
            \x20   self.assertEqual(e.exception.errno, 30)\n\
            \x20 def test_database(self):\n\
            \x20   c = sqlite3.connect('free/d.db'); c.execute('create table t(x)'); c.execute('insert into t values (1)'); c.commit()\n\
            \x20   self.assertEqual(c.execute('select x from t').fetchall(), [(1,)])\n\
            \x20 def test_threads(self):\n\
            \x20   ts = [threading.Thread(target=lambda n=n: open('free/t%d' % n, 'w').write('x')) for n in range(8)]\n\
            \x20   [t.start() for t in ts]; [t.join() for t in ts]\n\
            \x20   self.assertEqual(len([f for f in os.listdir('free') if f.startswith('t')]), 8)\n";
        world.world().file("home/repo/test_all.py", test);
        world.own();
        let run = world.run("python3 -m unittest -q test_all 2>&1").exits(0);
        assert!(run.stdout.contains("OK"), "{run:?}");
        assert!(run.stderr.contains("loci: refused: write bob/x.txt"), "{run:?}");
    });
}

/// The test runner of Python where it is there, and what it does besides: caches, its own temporary folders.
#[test]
fn pytest_and_its_caches() {
    let found = World::new(None).plain("python3", ["-m", "pytest", "--version"]).output().is_ok_and(|out| out.status.success());
    if !found {
        return skipped("`pytest` is not there");
    }
    as_each(|world| {
        let test = "import os\ndef test_tmp(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert (tmp_path / 'x').read_text() == 'x'\n\
            def test_hits():\n    try:\n        open('bob/x.txt', 'w')\n    except OSError as e:\n        assert e.errno == 30\n";
        world.world().file("home/repo/free/test_it.py", test);
        world.own();
        let run = world.run("python3 -m pytest -q free/test_it.py --basetemp=free/tmp 2>&1").exits(0);
        assert!(run.stdout.contains("2 passed") && run.stderr.contains("loci: refused: write bob/x.txt"), "{run:?}");
    });
}

#[test]
fn npm_runs_its_tests() {
    if !there("npm") || !there("node") {
        return skipped("`npm` is not there");
    }
    as_each(|world| {
        world.world().file(
            "home/repo/free/package.json",
            r#"{"name":"p","version":"1.0.0","scripts":{"test":"node --test t.js && echo tested > out"}}"#,
        );
        let test = r#"const t=require("node:test"),a=require("node:assert"),fs=require("fs");t("writes",()=>{fs.writeFileSync("w","x");a.throws(()=>fs.writeFileSync("../bob/n","x"),{code:"EROFS"})});"#;
        world.world().file("home/repo/free/t.js", test);
        world.own();
        let run = world.run("cd free && npm test --silent --no-update-notifier > log 2>&1 || cat log; cat out").exits(0);
        assert_eq!(run.stdout, "tested\n", "{run:?}");
        assert!(run.stderr.contains("loci: refused: write bob/n") || run.stderr.contains("loci: refused: create bob/n"), "{run:?}");
    });
}

/// A reader that goes away ends the writers of a pipeline, and an interrupt all of it.
#[test]
fn a_pipeline_that_is_interrupted() {
    as_each(|world| {
        assert_eq!(world.run("yes | head -n 2; echo ${PIPESTATUS[*]}").exits(0).stdout, "y\ny\n141 0\n");
        let loci = env!("CARGO_BIN_EXE_loci");
        let line = format!("{loci} exec --as alice -- yes | head -n 1; echo ${{PIPESTATUS[0]}}");
        assert_eq!(Run::of(&mut world.shell(&line), None).exits(0).stdout, "y\n141\n");
        // An interrupt of the group, as from a terminal.
        let script = "set -m; $LOCI exec --as alice -- bash -c 'trap \"echo stopped; exit 9\" INT; echo on; yes | cat > /dev/null; echo on' > free/log & \
            until grep -qs on free/log; do sleep 0.05; done; kill -INT -- -$!; wait $!; echo $?; cat free/log";
        let run = Run::of(world.shell(script).env("LOCI", loci), None);
        assert_eq!(run.stdout, "9\non\nstopped\n", "{run:?}");
    });
}

/// The compiler of whoever runs the tests: another user may not reach it.
#[test]
fn cargo_builds_a_crate() {
    let world = World::new(None);
    let cargo = Command::new("cargo").arg("-V").output().is_ok_and(|out| out.status.success());
    if !cargo {
        return skipped("`cargo` is not there");
    }
    world.world().file("home/repo/crate/Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    world.world().file("home/repo/crate/src/main.rs", "fn main() { println!(\"built\"); }\n");
    let mut command = world.exec("cd crate && cargo run -q --offline 2>&1");
    for name in ["PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    let home = std::env::var_os("HOME").unwrap_or_default();
    for (name, dir) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if std::env::var_os(name).is_none() {
            command.env(name, std::path::Path::new(&home).join(dir));
        }
    }
    assert_eq!(Run::of(&mut command, None).exits(0).stdout, "built\n");
}

#[test]
fn a_node_script() {
    if !there("node") {
        return skipped("`node` is not there");
    }
    as_each(|world| {
        let script = r#"node -e 'const fs=require("fs"),c=require("child_process");fs.writeFileSync("free/n","x");console.log(fs.readFileSync("free/n","utf8"),c.execSync("echo sub").toString().trim())'"#;
        assert_eq!(world.run(script).exits(0).stdout, "x sub\n");
    });
}
