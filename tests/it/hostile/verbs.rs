//! Every verb that reads, in a tree of somebody who means ill: it ends, in bounds of what it reads and holds, says what is
//! bad, finds what is good, and prints nothing that a terminal obeys. As root and as a plain user.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use serde_json::Value;

use super::nasty::{self, Races, Trap};
use crate::sandbox::Sandbox;
use crate::sweep::reads;

/// A user number that nobody has.
const PLAIN: u32 = 54_321;
/// A guard against what never ends; no bound.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes that one call may read from files, directories left out: of a log the last 64 MiB count, and who shows a message
/// or an agent looks at two of them. The giants alone have 17 GiB.
const READ: u64 = 160 << 20;
/// Calls to read.
const CALLS: u64 = 60_000;
/// KiB of addresses: a call that wants more is ended by the system. Stacks of threads and the program itself count.
const ADDRESSES: &str = "700000";
/// Bytes on both outputs.
const PRINTED: u64 = 32 << 20;

/// Dry runs of verbs that change something: they read as much.
const DRY: &[&str] = &[
    "toggle rules/good off --dry-run",
    "equip s --dry-run",
    "sets save new --dry-run",
    "loadout archive new --dry-run",
    "own good --as alice --dry-run",
    "extract good --into deeper --dry-run",
    "inherit . ../child --dry-run",
    "trust . --dry-run",
    "clock enroll . --dry-run",
    "exec --dry-run -- true",
];

/// What hashes a loadout or a body, or lists it by its content, reads all of it: that is what it is asked for.
const READ_ALL: &[&str] = &["inherit", "loadout id", "loadout active", "loadout diff", "loadout show", "loadout archive"];

/// How a call ended and what it cost.
struct Call {
    what: String,
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    read: u64,
    calls: u64,
}

struct Place {
    world: Sandbox,
    user: Option<u32>,
    program: PathBuf,
}

impl Place {
    fn new(user: Option<u32>, traps: &[Trap]) -> Self {
        let world = Sandbox::in_memory();
        nasty::good(&world);
        for (_, trap) in traps {
            trap(&world);
        }
        world.dir("out").dir("state");
        // Beside the tree: the folder of the tests may be closed to others.
        let program = world.path("loci");
        fs::copy(env!("CARGO_BIN_EXE_loci"), &program).unwrap();
        if let Some(user) = user {
            for dir in ["home", "r", "out", "state"] {
                let owned =
                    Command::new("chown").args(["-hR", &format!("{user}:{user}")]).arg(world.path(dir)).stderr(Stdio::null()).status();
                assert!(owned.is_ok());
            }
        }
        Self { world, user, program }
    }

    fn call(&self, cwd: &str, line: &str, json: bool) -> Call {
        let what = format!("{line}{} in {cwd} as {:?}", if json { " --json" } else { "" }, self.user);
        let outputs = ["stdout", "stderr"].map(|name| self.world.path(name));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -v $0; exec \"$@\"", ADDRESSES]).arg(&self.program);
        command.args(json.then_some("--json")).args(line.split(' ')).current_dir(self.world.path(cwd)).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.world.path("home")).env("TZ", "UTC");
        command.env("XDG_STATE_HOME", self.world.path("state")).env("LOCI_ANCESTORS", "sh").stdin(Stdio::null());
        command.stdout(fs::File::create(&outputs[0]).unwrap()).stderr(fs::File::create(&outputs[1]).unwrap());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().unwrap();
        let (read, calls) = ended(&mut child, &what);
        let code = child.wait().unwrap().code();
        let [stdout, stderr] = outputs.map(|path| {
            assert!(fs::metadata(&path).unwrap().len() <= PRINTED, "{what}: it prints {} bytes", fs::metadata(&path).unwrap().len());
            fs::read(path).unwrap()
        });
        Call { what, code, stdout, stderr, read, calls }
    }
}

/// Waits for the end of a program that is not collected yet, and says what it has read: bytes, and calls.
fn ended(child: &mut Child, what: &str) -> (u64, u64) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let end = Instant::now() + PATIENCE;
    loop {
        let state = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG).unwrap();
        if !matches!(state, WaitStatus::StillAlive) {
            break;
        }
        if Instant::now() > end {
            let _ = child.kill();
            panic!("{what}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok()).unwrap_or_default();
    (number("rchar"), number("syscr"))
}

/// What has to hold for each call.
fn judge(call: &Call, json: bool) -> Vec<String> {
    let mut found = Vec::new();
    let err = String::from_utf8_lossy(&call.stderr);
    if !matches!(call.code, Some(0..=2)) || err.contains("panicked") {
        found.push(format!("it ends with {:?}: {}", call.code, err.chars().take(600).collect::<String>()));
    }
    for (name, value, bound) in [("bytes read", call.read, READ), ("calls to read", call.calls, CALLS)] {
        if value > bound {
            found.push(format!("{name}: {value}, the bound is {bound}"));
        }
    }
    for (name, text) in [("stdout", &call.stdout), ("stderr", &call.stderr)] {
        if let Some(byte) = nasty::obeyed(text) {
            let line = text.split(|byte| *byte == b'\n').find(|line| nasty::obeyed(line).is_some()).unwrap_or_default();
            found.push(format!(
                "{name} has the byte {byte:#04x}: {:?}",
                String::from_utf8_lossy(line).chars().take(300).collect::<String>()
            ));
        }
        if let Err(error) = std::str::from_utf8(text) {
            found.push(format!("{name} is not UTF-8: {error}"));
        }
    }
    if json && !call.stdout.is_empty() && call.code != Some(2) {
        let whole = serde_json::from_slice::<Value>(&call.stdout).is_ok();
        let lines = call.stdout.split(|byte| *byte == b'\n').all(|line| line.is_empty() || serde_json::from_slice::<Value>(line).is_ok());
        if !whole && !lines {
            found.push("stdout is no JSON".to_owned());
        }
    }
    found.into_iter().map(|one| format!("{}: {one}", call.what)).collect()
}

fn users() -> Vec<Option<u32>> {
    if nix::unistd::geteuid().is_root() { vec![None, Some(PLAIN)] } else { vec![None] }
}

/// Runs all verbs among some traps, and returns what does not hold.
fn all_verbs(traps: &[Trap], cwds: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let reads_all = |line: &str| READ_ALL.iter().any(|one| line.starts_with(one));
    let giants = traps.iter().any(|(name, _)| *name == "sizes");
    for user in users() {
        let place = Place::new(user, traps);
        let _races = Races::start(&place.world);
        for cwd in cwds {
            for line in
                reads::rows().into_iter().map(|(_, line)| line).chain(DRY.iter().copied()).filter(|line| !giants || !reads_all(line))
            {
                for json in [false, true] {
                    let call = place.call(cwd, line, json);
                    found.extend(judge(&call, json));
                    found.extend(missing(&call, cwd, line, json));
                }
            }
        }
    }
    found
}

/// What is good and was not found.
fn missing(call: &Call, cwd: &str, line: &str, json: bool) -> Vec<String> {
    if cwd != "r" || json {
        return Vec::new();
    }
    let wanted: &[&str] = match line {
        "tree ." => &["good", "owned"],
        "resolve rules" => &["good.md"],
        "show ." => &["alice"],
        "sets list" => &["s", "t"],
        "where owned/a.txt" | "check owned/a.txt --as alice" => &["bob"],
        "jobs list" => &["a"],
        "loop list" => &["l"],
        "loadout status" => &["good"],
        _ => &[],
    };
    let text = String::from_utf8_lossy(&call.stdout);
    wanted
        .iter()
        .filter(|one| !text.contains(**one))
        .map(|one| format!("{}: {one} was not found: {text} {}", call.what, String::from_utf8_lossy(&call.stderr)))
        .collect()
}

fn each(name: &str) {
    let traps: Vec<_> = nasty::TRAPS.iter().copied().filter(|(one, _)| *one == name).collect();
    assert_eq!(traps.len(), 1);
    let mut cwds = vec!["r"];
    if name == "names" {
        cwds.push("r/names/-rf");
    }
    let found = all_verbs(&traps, &cwds);
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn names() {
    each("names");
}

#[test]
fn depths() {
    each("depths");
}

#[test]
fn links() {
    each("links");
}

#[test]
fn pipes_sockets_and_devices() {
    each("pipes, sockets and devices");
}

#[test]
fn sizes() {
    each("sizes");
}

#[test]
fn permissions() {
    each("permissions");
}

#[test]
fn case_twins() {
    each("case twins");
}

#[test]
fn texts() {
    each("texts");
}

/// What a plain user can't look into is said, not passed over.
#[test]
fn what_can_not_be_read_is_said() {
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let traps: Vec<_> = nasty::TRAPS.iter().copied().filter(|(one, _)| *one == "permissions").collect();
    let place = Place::new(Some(PLAIN), &traps);
    let said = |line: &str| {
        let call = place.call("r", line, false);
        format!("{}{}", String::from_utf8_lossy(&call.stdout), String::from_utf8_lossy(&call.stderr))
    };
    let resolved = said("resolve rules");
    for one in ["shut.md", "closed"] {
        assert!(resolved.contains(one), "{one}: {resolved}");
    }
    let walked = said("doctor .");
    for one in ["shut/a", "shut/b", "shut/c", "shut/listed"] {
        assert!(walked.contains(one), "{one}: {walked}");
    }
}
