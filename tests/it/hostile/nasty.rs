//! A repository of somebody who means ill: all that a file system lets one make, around good files that have to be found
//! all the same.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;

use crate::sandbox::Sandbox;

/// A kind of trap: its name, and what makes it.
pub(super) type Trap = (&'static str, fn(&Sandbox));

/// The traps of one kind each, by name.
pub(super) const TRAPS: &[Trap] = &[
    ("names", names),
    ("depths", depths),
    ("links", links),
    ("pipes, sockets and devices", specials),
    ("sizes", sizes),
    ("permissions", permissions),
    ("case twins", twins),
    ("texts", texts),
];

/// What every tree has.
pub(super) fn good(world: &Sandbox) {
    world
        .file("home/.loci/agent.md", "---\nid: me\n---\n")
        .file("r/.git/HEAD", "ref: refs/heads/main\n")
        .file("r/.loci/agent.md", "---\nid: alice\n---\n")
        .file("r/.loci/rules/good.md", "---\nname: good\n---\nBe kind.\n")
        .file("r/.loci/sets/s.yaml", "rules: {good: off}\n")
        .file("r/.loci/sets/t.yaml", "rules: {good: on}\n")
        .file("r/.loci-clock/jobs/a.md", "---\nwhen: {every: 1h}\nrun: \"true\"\ndeliverables: [out/done]\n---\n")
        .file("r/.loci-clock/loops/l.md", "---\nhooks: []\nexit: state.n >= 3\n---\nGo on.\n")
        .file("r/good/.loci/rules/near.md", "Be near.\n")
        .file("r/owned/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("r/owned/.loci/agent.md", "---\nid: bob\n---\n")
        .file("r/owned/a.txt", "alpha\n");
}

fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Names that look like something else: each a place with a rule and an owner, and each as a rule of the root.
fn names(world: &Sandbox) {
    let long = [b'n'; 251];
    let odd: [&[u8]; 12] = [
        b"bad\xff\xfe",
        b"new\nline",
        b"-rf",
        b"--json",
        b"\x1b[2J\x1b]0;title\x07",
        b"tab\there",
        b" ",
        b"...",
        b"\xe2\x80\xaegnp.exe",
        b"$(touch x)`id`;'\"",
        b"*?[a]{b,c}",
        &long,
    ];
    for odd in odd {
        let odd = name(odd);
        let place = Path::new("r/names").join(&odd);
        world.file(place.join(".loci/rules/inner.md"), "x").file(place.join(".loci/owner.md"), "---\nowner: carol\n---\n");
        let mut file = odd.clone();
        file.push(".md");
        world.file(Path::new("r/.loci/rules").join(&file), "odd").file(Path::new("r/.loci/sets").join(&file), "odd");
        world.file(Path::new("r/.loci-clock/jobs").join(&file), "---\nwhen: never\n---\n");
        world.file(Path::new("r/.loci/skills").join(&odd).join("SKILL.md"), "odd");
        world.file(Path::new("r/.loci/memory/inbox/new").join(&file), "odd");
        world.file(Path::new("home/.loci/loadouts").join(&odd).join("manifest.json"), "odd");
    }
}

/// A thousand levels, a path of 4,000 bytes, and one that is longer than any call takes.
fn depths(world: &Sandbox) {
    let mut thousand = PathBuf::from("r/deep");
    thousand.extend(std::iter::repeat_n("d", 1000));
    world.file(thousand.join(".loci/rules/bottom.md"), "x");
    let long = "l".repeat(250);
    let mut path = world.path("r/long");
    while path.as_os_str().len() + 300 < 4000 {
        path.push(&long);
    }
    fs::create_dir_all(path.join(".loci/rules")).unwrap();
    fs::write(path.join(".loci/rules/far.md"), "x").unwrap();
    let mut rules = PathBuf::from("r/.loci/rules/nested");
    rules.extend(std::iter::repeat_n("n", 300));
    world.file(rules.join("inner.md"), "x");
    beyond(&path, &long);
}

/// Directories that no path from the root reaches: each is made from within the one above it.
fn beyond(from: &Path, name: &str) {
    use nix::fcntl::{OFlag, open, openat};
    use nix::sys::stat::mkdirat;
    let mut dir = open(from, OFlag::O_DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..8 {
        mkdirat(&dir, name, Mode::S_IRWXU).unwrap();
        dir = openat(&dir, name, OFlag::O_DIRECTORY, Mode::empty()).unwrap();
    }
    mkdirat(&dir, ".loci", Mode::S_IRWXU).unwrap();
}

/// Links in loops, into nowhere, out of the tree, to devices and processes, where files or folders belong.
fn links(world: &Sandbox) {
    let targets: [(&str, &str); 10] = [
        ("itself", "itself"),
        ("nowhere", "/nowhere/at/all"),
        ("top", "/"),
        ("up", "../../.."),
        ("zero", "/dev/zero"),
        ("tty", "/dev/tty"),
        ("memory", "/proc/self/mem"),
        ("process", "/proc/self/root/proc/self/cwd"),
        ("events", "/proc/kmsg"),
        ("empty-name", "./././."),
    ];
    for (name, target) in targets {
        let link = |path: PathBuf, own: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let target = if name == "itself" { own } else { target };
            symlink(target, path).unwrap();
        };
        let place = world.path("r/links").join(name);
        for own in ["owner.md", "agent.md"] {
            link(place.join(".loci").join(own), own);
        }
        link(world.path(format!("r/links/dotdir-{name}/.loci")), ".loci");
        link(world.path(format!("r/links/plain-{name}")), &format!("plain-{name}"));
        for (dir, file) in [
            ("r/.loci/rules", format!("{name}.md")),
            ("r/.loci/sets", format!("{name}.yaml")),
            ("r/.loci-clock/jobs", format!("{name}.md")),
        ] {
            link(world.path(dir).join(&file), &file);
        }
    }
    for (one, two) in [("a", "b"), ("b", "a")] {
        world.link(format!("r/.loci/rules/loop-{one}"), format!("loop-{two}"));
    }
    // Each folder leads twice to the next: followed blindly, 2^40 ways.
    for nth in 0..40 {
        world.link(format!("farm/{nth}/a"), format!("../{}", nth + 1)).link(format!("farm/{nth}/b"), format!("../{}", nth + 1));
    }
    world.file("farm/40/x.md", "x").link("r/.loci/rules/farm", "../../../farm/0");
}

/// What blocks whoever opens it, where a file is looked for.
fn specials(world: &Sandbox) {
    let all = Mode::from_bits_truncate(0o666);
    let places: [(&str, &str); 7] = [
        ("r/specials/SORT/.loci", "owner.md"),
        ("r/specials/SORT/.loci", "agent.md"),
        ("r/.loci/rules", "SORT.md"),
        ("r/.loci/sets", "SORT.yaml"),
        ("r/.loci/hooks", "SORT.sh"),
        ("r/.loci-clock/jobs", "SORT.md"),
        ("r/.loci/memory/inbox/new", "SORT.md"),
    ];
    for (dir, file) in places {
        for sort in ["pipe", "socket", "zero", "disk"] {
            let dir = world.path(dir.replace("SORT", sort));
            fs::create_dir_all(&dir).unwrap();
            let path = dir.join(file.replace("SORT", sort));
            // Only root makes devices; where nobody may, there is one trap less.
            match sort {
                "pipe" => mkfifo(&path, all).unwrap(),
                "socket" => mknod(&path, SFlag::S_IFSOCK, all, 0).unwrap(),
                "zero" => drop(mknod(&path, SFlag::S_IFCHR, all, nix::libc::makedev(1, 5))),
                _ => drop(mknod(&path, SFlag::S_IFBLK, all, nix::libc::makedev(7, 0))),
            }
        }
    }
}

/// A gigabyte that takes no place on the disk, in front matter that never ends, wherever a text is read.
fn sizes(world: &Sandbox) {
    for path in [
        "r/sizes/a/.loci/owner.md",
        "r/sizes/b/.loci/agent.md",
        "r/.loci/rules/giant.md",
        "r/.loci/rules/_use.yaml",
        "r/.loci/skills/giant/SKILL.md",
        "r/.loci/agents/giant.md",
        "r/.loci/hooks/giant.sh",
        "r/.loci/sets/giant.yaml",
        "r/.loci-clock/jobs/giant.md",
        "r/.loci-clock/loops/giant.md",
        "r/.loci-clock/ledger.jsonl",
        "r/.loci/memory/inbox/new/20260101T000000Z-0000000000000001.md",
        "r/.loci/memory/inbox/log.jsonl",
        "r/.loci/memory/sent/log.jsonl",
        "r/AGENTS.md",
        "r/.claude/settings.json",
        "r/.loci-view/view.md",
    ] {
        world.file(path, "---\nid: giant\nowner: giant\n");
        fs::File::options().write(true).open(world.path(path)).unwrap().set_len(1 << 30).unwrap();
    }
    // Many small ones.
    for nth in 0..2000 {
        world.file(format!("r/.loci/rules/many/{nth}.md"), "x");
    }
}

/// What a plain user can't read, or can't look into.
fn permissions(world: &Sandbox) {
    let shut = |path: &str, mode: u32| fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
    world
        .file("r/.loci/rules/shut.md", "x")
        .file("r/.loci/rules/closed/inner.md", "x")
        .file("r/.loci/sets/shut.yaml", "x")
        .file("r/.loci-clock/jobs/shut.md", "x")
        .file("r/.loci-clock/loops/shut.md", "x")
        .file("r/.loci/memory/inbox/new/20260101T000000Z-0000000000000002.md", "---\nid: x\n---\n")
        .file("r/shut/a/.loci/owner.md", "---\nowner: bob\n---\n")
        .file("r/shut/b/.loci/agent.md", "---\nid: b\n---\n")
        .file("r/shut/c/.loci/rules/r.md", "x")
        .file("r/shut/listed/.loci/rules/r.md", "x");
    for path in [
        "r/.loci/rules/shut.md",
        "r/.loci/sets/shut.yaml",
        "r/.loci-clock/jobs/shut.md",
        "r/.loci-clock/loops/shut.md",
        "r/shut/a/.loci/owner.md",
    ] {
        shut(path, 0);
    }
    shut("r/.loci/memory/inbox/new/20260101T000000Z-0000000000000002.md", 0);
    shut("r/.loci/rules/closed", 0);
    shut("r/shut/b/.loci", 0);
    shut("r/shut/c", 0);
    // Its names can be read, and nothing behind them.
    shut("r/shut/listed/.loci", 0o444);
}

/// Names that are one on some disks.
fn twins(world: &Sandbox) {
    for one in ["Style.md", "style.md", "STYLE.MD", "stra\u{df}e.md", "STRASSE.md", "e\u{301}.md", "\u{e9}.md"] {
        world.file(Path::new("r/.loci/rules").join(one), one);
    }
    world.file("r/twins/.LOCI/owner.md", "---\nowner: bob\n---\n").file("r/twins/.Loci/agent.md", "---\nid: b\n---\n");
    world.file("r/twins/x/.loci/OWNER.md", "---\nowner: bob\n---\n");
}

/// Texts that are none, or too much of one.
fn texts(world: &Sandbox) {
    let nested = format!("---\nid: {}\n---\n", "[".repeat(20_000));
    let alias = format!(
        "---\na: &a [x,x,x,x,x,x,x,x]\n{}\n---\n",
        (0..9)
            .map(|n| format!("{}: &{} [*{0},*{0},*{0},*{0},*{0}]", (b'b' + n) as char, (b'b' + n) as char))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let long = format!("---\nid: {}\n---\n", "x".repeat(70_000));
    let each: [(&str, Vec<u8>); 8] = [
        ("nested", nested.into_bytes()),
        ("alias", alias.into_bytes()),
        ("long", long.into_bytes()),
        ("zeros", vec![0; 5000]),
        ("bytes", (0..=255).cycle().take(5000).collect()),
        ("escapes", b"---\nid: \"\\e[2J\\a\"\ndescription: \"\x1b]0;x\x07\"\nowner: \"a\\nb\"\n---\n\x1b[31m".to_vec()),
        ("open", b"---\nid: x\n".to_vec()),
        ("empty", Vec::new()),
    ];
    for (name, text) in &each {
        for path in [
            format!("r/texts/{name}/.loci/owner.md"),
            format!("r/texts/{name}/.loci/agent.md"),
            format!("r/texts/{name}/.loci-view/view.md"),
            format!("r/.loci/rules/{name}.md"),
            format!("r/.loci/skills/{name}/SKILL.md"),
            format!("r/.loci/sets/{name}.yaml"),
            format!("r/.loci/sets/{name}2.json"),
            format!("r/.loci/hooks/{name}.sh"),
            format!("r/.loci-clock/jobs/{name}.md"),
            format!("r/.loci-clock/loops/{name}.md"),
            format!("r/.loci/memory/inbox/new/{name}.md"),
            format!("home/.loci/loadouts/{name}/history.jsonl"),
        ] {
            world.file(path, text);
        }
    }
    world.file("r/.loci-clock/ledger.jsonl", [&b"{\"torn\":"[..], &[0xff, b'\n'], &each[4].1].concat());
    world.file("r/.loci/memory/inbox/log.jsonl", [&each[4].1[..], b"\n{}\n[]\n"].concat());
}

/// Renames that go on until it is dropped: a rule that is a file, a link, a folder and nothing by turns, and a place that
/// comes and goes.
pub(super) struct Races {
    over: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Races {
    pub(super) fn start(world: &Sandbox) -> Self {
        world.file("aside/file.md", "x").dir("aside/dir.md").link("aside/link.md", "/dev/zero").file("r/race/one/.loci/rules/r.md", "x");
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (told, base) = (std::sync::Arc::clone(&over), world.path(""));
        let thread = std::thread::spawn(move || {
            while !told.load(std::sync::atomic::Ordering::Relaxed) {
                for kind in ["file.md", "dir.md", "link.md"] {
                    let (from, to) = (base.join("aside").join(kind), base.join("r/.loci/rules/raced.md"));
                    fs::rename(&from, &to).unwrap();
                    fs::rename(base.join("r/race/one"), base.join("r/race/two")).unwrap();
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    fs::rename(base.join("r/race/two"), base.join("r/race/one")).unwrap();
                    fs::rename(&to, &from).unwrap();
                }
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Races {
    fn drop(&mut self) {
        self.over.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether bytes that a terminal obeys are in a text.
pub(super) fn obeyed(text: &[u8]) -> Option<u8> {
    text.iter().copied().find(|byte| (*byte < b' ' && !matches!(byte, b'\n' | b'\t')) || *byte == 0x7f)
}
