//! All that descends from one start: who of it still lives, and its end.
//!
//! A number is not enough to end a process by: it is given to somebody else as soon as the process is
//! gone. So each one is known by its [`Identity`] (number, start, boot), which is read again before every
//! signal. Three threads lead to what a program has started:
//!
//! - the **group** that it leads (and the session, where it leads one);
//! - the **mark**, a variable of its environment that every child inherits (`LOCI_RUN`): a grandchild in a
//!   session of its own leaves the group, and keeps the mark. It is read from `/proc/PID/environ`;
//! - the **descent** from this process, where it has [`adopt_orphans`]: what has left the group and wiped its
//!   environment is still below us.
//!
//! Where the system has no `/proc`, only the group is found.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::{Duration, Instant};

use super::process::{Identity, stat_fields};

pub use nix::sys::signal::Signal;

/// The most that is read of one environment; the kernel has a bound of its own near it.
const MAX_ENVIRON: u64 = 8 << 20;
/// How long what was killed may take to be gone, before it counts as what can't be ended.
const KILL_PATIENCE: Duration = Duration::from_secs(3);

impl Identity {
    /// The process that has this number now; `None` where there is none, or one that has ended and only
    /// waits to be looked at.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        let found = Self { pid, start: super::process::start_ticks(pid).unwrap_or(0), boot: super::process::boot_id() };
        (pid > 0 && found.is_alive()).then_some(found)
    }

    /// Sends a signal to that very process, and to none that has its number by now. `false` where it is
    /// gone, or the system does not let us.
    #[must_use]
    pub fn signal(&self, signal: Signal) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(sent) = self.signal_by_handle(signal) {
            return sent;
        }
        self.is_alive() && nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid), signal).is_ok()
    }

    /// By a handle that is opened before the identity is read: what it leads to can't change in between.
    /// `None` where the kernel has no such handles.
    #[cfg(target_os = "linux")]
    fn signal_by_handle(&self, signal: Signal) -> Option<bool> {
        use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
        #[expect(unsafe_code, reason = "nix has no handles of processes")]
        // SAFETY: the call takes two numbers and returns a new descriptor, or a negative number.
        let opened = unsafe { nix::libc::syscall(nix::libc::SYS_pidfd_open, self.pid, 0) };
        let Ok(number) = i32::try_from(opened) else { return Some(false) };
        if number < 0 {
            let gone = nix::errno::Errno::last() == nix::errno::Errno::ESRCH;
            return gone.then_some(false);
        }
        #[expect(unsafe_code, reason = "the descriptor came from the kernel as a number")]
        // SAFETY: it was just opened for us, and nobody else knows it.
        let handle = unsafe { OwnedFd::from_raw_fd(number) };
        if !self.is_alive() {
            return Some(false);
        }
        #[expect(unsafe_code, reason = "nix has no handles of processes")]
        // SAFETY: the descriptor is open for as long as `handle` lives; no further information is passed along.
        let sent = unsafe {
            nix::libc::syscall(
                nix::libc::SYS_pidfd_send_signal,
                handle.as_raw_fd(),
                signal as nix::libc::c_int,
                std::ptr::null::<nix::libc::siginfo_t>(),
                0,
            )
        };
        Some(sent == 0)
    }
}

/// From now on what loses its parent below this process becomes its child, so that descent is a thread
/// that can't be cut. Children have to be looked at then ([`reap_orphans`]), or they stay as zombies.
///
/// # Errors
/// Where the system has no such thing.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    return Ok(nix::sys::prctl::set_child_subreaper(true)?);
    #[cfg(not(target_os = "linux"))]
    Err(io::ErrorKind::Unsupported.into())
}

/// Looks at children that have ended, all but `keep`, whose end somebody else waits for.
pub fn reap_orphans(keep: i32) {
    for (pid, stat) in table() {
        if pid != keep && stat.parent == nix::unistd::getpid().as_raw() && stat.ended {
            let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(pid), Some(nix::sys::wait::WaitPidFlag::WNOHANG));
        }
    }
}

/// Somebody of a lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Which process.
    pub identity: Identity,
    /// Its program's name, as the kernel has it; from outside: print it through [`super::shown`].
    pub name: String,
}

/// What descends from one start.
#[derive(Debug, Clone)]
pub struct Lineage {
    /// The process that was started: the leader of its group.
    pub leader: Identity,
    /// Name and value of the variable that all of it inherits.
    pub mark: Option<(String, OsString)>,
    /// Whether everything below this process counts. For a process that runs one program and nothing else.
    pub descent: bool,
}

/// How an end went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Who had to be told, and is gone.
    pub gone: Vec<Member>,
    /// Who is still there after all: it belongs to another user, or hangs in the kernel.
    pub left: Vec<Member>,
}

/// What `/proc/PID/stat` says, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct Stat {
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
    ended: bool,
}

fn stat(pid: i32) -> Option<Stat> {
    let fields = stat_fields(pid)?;
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    let ended = matches!(fields.first().map(String::as_str), Some("Z" | "X"));
    Some(Stat { parent: number(1)?, group: number(2)?, session: number(3)?, start: fields.get(19)?.parse().ok()?, ended })
}

/// Every process that can be seen.
fn table() -> BTreeMap<i32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// How long a process may take to become another program before it is taken for one without an environment.
const EXEC_PATIENCE: Duration = Duration::from_secs(2);

/// Whether a process is about to become another program: it has one by then, and neither arguments nor an environment. One
/// that was started with an empty environment has a place for it; the kernel's own have no program.
fn becomes_another(pid: i32) -> bool {
    /// The address of the environment, counted from the state on (`proc_pid_stat(5)`: `env_start`).
    const ENV_START: usize = 47;
    let nowhere = stat_fields(pid).is_some_and(|fields| fields.get(ENV_START).is_some_and(|at| at == "0"));
    nowhere && fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

/// Whether a process was started with this variable. What it did to its own environment since does not
/// show, nor does that of another user.
fn carries(pid: i32, name: &str, value: &OsStr) -> bool {
    let mut vars = Vec::new();
    let mut rest = Pauses::until(EXEC_PATIENCE);
    loop {
        let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else { return false };
        if file.take(MAX_ENVIRON).read_to_end(&mut vars).is_err() {
            return false;
        }
        if !vars.is_empty() || !becomes_another(pid) || !rest.pause() {
            break;
        }
    }
    let mut wanted = OsString::from(format!("{name}=")).into_vec();
    wanted.extend_from_slice(value.as_bytes());
    vars.split(|byte| *byte == 0).any(|var| var == wanted)
}

fn name_of(pid: i32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

impl Lineage {
    /// Who of it lives now, this process and its own group's other members never.
    #[must_use]
    pub fn living(&self) -> Vec<Member> {
        let (me, all) = (nix::unistd::getpid().as_raw(), table());
        let mut below: BTreeSet<i32> = BTreeSet::new();
        if self.descent {
            // Numbers are no order of descent: as often as somebody is added.
            let mut more = true;
            while more {
                let next = all.iter().filter(|(pid, stat)| (stat.parent == me || below.contains(&stat.parent)) && !below.contains(pid));
                let next: Vec<i32> = next.map(|(pid, _)| *pid).collect();
                more = !next.is_empty();
                below.extend(next);
            }
        }
        // The number of a group is not given away while somebody is in it; who leads it now tells whether it is ours.
        let leads = all.get(&self.leader.pid);
        let taken = leads.is_some_and(|stat| stat.start != self.leader.start);
        let boot = super::process::boot_id();
        let ours = |pid: i32, stat: &Stat| {
            let grouped = !taken && (stat.group == self.leader.pid || stat.session == self.leader.pid) && stat.start >= self.leader.start;
            // A group whose leader is gone is ours only with the mark, where there is one.
            let marked = || self.mark.as_ref().is_some_and(|(name, value)| carries(pid, name, value));
            below.contains(&pid) || (grouped && (leads.is_some() || self.mark.is_none())) || marked()
        };
        let same_boot = boot == self.leader.boot;
        all.iter()
            .filter(|(pid, stat)| same_boot && **pid != me && !stat.ended && ours(**pid, stat))
            .map(|(pid, stat)| Member { identity: Identity { pid: *pid, start: stat.start, boot: boot.clone() }, name: name_of(*pid) })
            .collect()
    }

    /// Sends a signal to all of it that lives.
    pub fn signal(&self, signal: Signal) -> Vec<Member> {
        let living = self.living();
        for one in &living {
            let _ = one.identity.signal(signal);
        }
        if living.is_empty() && !fs::exists("/proc/self/stat").unwrap_or(false) {
            // Nobody can be seen here: the group is all that is known.
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(self.leader.pid), signal);
        }
        living
    }

    /// Ends all of it: TERM, up to `grace` for it to go by itself, KILL as long as somebody is there. Who is
    /// asked meanwhile (`hurry`) may say that the grace is over.
    pub fn end(&self, grace: Duration, mut hurry: impl FnMut() -> bool) -> Ended {
        let mut told: Vec<Member> = Vec::new();
        let mut remember = |living: &[Member]| {
            for one in living {
                if !told.contains(one) {
                    told.push(one.clone());
                }
            }
        };
        let mut left = self.signal(Signal::SIGTERM);
        remember(&left);
        let mut rest = Pauses::until(grace);
        while !left.is_empty() && !hurry() && rest.pause() {
            reap_orphans(self.leader.pid);
            left = self.living();
        }
        let mut rest = Pauses::until(KILL_PATIENCE);
        while !left.is_empty() {
            // Again and again: who forks while it is killed leaves a child behind.
            left = self.signal(Signal::SIGKILL);
            remember(&left);
            reap_orphans(self.leader.pid);
            if !left.is_empty() && !rest.pause() {
                left = self.living();
                break;
            }
        }
        told.retain(|one| !left.iter().any(|other| other.identity == one.identity));
        Ended { gone: told, left }
    }
}

/// Pauses that grow, up to an end.
struct Pauses {
    end: Instant,
    next: Duration,
}

impl Pauses {
    fn until(limit: Duration) -> Self {
        Self { end: Instant::now() + limit, next: Duration::from_millis(1) }
    }

    /// Waits a little; `false` where the time is over.
    fn pause(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.end {
            return false;
        }
        std::thread::sleep(self.next.min(self.end - now));
        self.next = (self.next * 2).min(Duration::from_millis(50));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A shell that leads a group, with a mark; it has said something when this returns.
    fn start(script: &str, mark: &str) -> (Child, Lineage) {
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .env("LOCI_TEST_MARK", mark)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut byte = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        let leader = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
        (child, Lineage { leader, mark: Some(("LOCI_TEST_MARK".into(), mark.into())), descent: false })
    }

    fn mark(name: &str) -> String {
        format!("{name}-{}", std::process::id())
    }

    #[test]
    fn a_signal_reaches_that_very_process_only() {
        let (mut child, lineage) = start("echo; exec sleep 60", &mark("only"));
        let other = Identity { start: lineage.leader.start + 1, ..lineage.leader.clone() };
        assert!(!other.is_alive() && !other.signal(Signal::SIGKILL));
        let other = Identity { boot: "elsewhere".into(), ..lineage.leader.clone() };
        assert!(!other.signal(Signal::SIGKILL) && child.try_wait().unwrap().is_none());
        assert!(lineage.leader.signal(Signal::SIGKILL));
        child.wait().unwrap();
        assert!(!lineage.leader.signal(Signal::SIGKILL));
        assert_eq!(Identity::of(lineage.leader.pid), None);
    }

    #[test]
    fn who_asks_to_go_goes_within_its_grace() {
        let (mut child, lineage) = start("trap 'exit 3' TERM; echo; while :; do sleep 0.01; done", &mark("grace"));
        let ended = lineage.end(Duration::from_secs(20), || false);
        assert!(ended.left.is_empty() && !ended.gone.is_empty(), "{ended:?}");
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }

    #[test]
    fn who_ignores_that_is_killed_and_so_is_a_daemon_in_a_session_of_its_own() {
        let script = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo; exec sleep 61' & wait; sleep 61";
        let (mut child, lineage) = start(script, &mark("daemon"));
        let before = lineage.living();
        assert!(before.len() >= 2, "{before:?}");
        assert!(before.iter().any(|one| stat(one.identity.pid).is_some_and(|stat| stat.group != lineage.leader.pid)), "{before:?}");
        let ended = lineage.end(Duration::from_millis(20), || false);
        assert!(ended.left.is_empty() && ended.gone.len() >= 2, "{ended:?}");
        child.wait().unwrap();
        assert_eq!(lineage.living(), []);
    }

    #[test]
    fn a_daemon_is_found_after_its_leader_is_gone() {
        let (mut child, lineage) = start("setsid sh -c 'echo; exec sleep 61' & wait $!", &mark("gone"));
        assert!(lineage.leader.signal(Signal::SIGKILL));
        child.wait().unwrap();
        let living = lineage.living();
        assert_eq!(living.len(), 1, "{living:?}");
        // Without the mark it would be lost: this is what the mark is for.
        assert_eq!(Lineage { mark: None, ..lineage.clone() }.living(), []);
        // What it is called may change meanwhile: the shell becomes what it runs.
        let who = |members: &[Member]| members.iter().map(|member| member.identity.clone()).collect::<Vec<_>>();
        assert_eq!(who(&lineage.end(Duration::from_secs(20), || false).gone), who(&living));
    }

    #[test]
    fn somebody_else_with_the_number_of_the_group_is_left_alone() {
        let (mut child, lineage) = start("echo; exec sleep 60", &mark("reused"));
        let stale = Lineage { leader: Identity { start: lineage.leader.start - 1, ..lineage.leader.clone() }, mark: None, descent: false };
        assert_eq!(stale.end(Duration::ZERO, || false), Ended::default());
        assert!(child.try_wait().unwrap().is_none());
        let _ = lineage.end(Duration::ZERO, || true);
        child.wait().unwrap();
    }
}
