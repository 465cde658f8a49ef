//! A program that we start, stand by, and outlive: nothing of it is left when we go.
//!
//! It leads a group of its own. Without a terminal its output goes where ours goes; with one, the terminal
//! is its own until it ends or is put aside. Whatever asks us to end asks all of it, and has its way: after
//! a grace, or at a second word, what is still there is killed. What it left behind (a daemon in a session
//! of its own) is ended too.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{self, SetArg, Termios};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::foreground::{Deaf, FORWARDED, wait_for_signal};
use super::lineage::{self, Ended, Lineage};
use super::process::Identity;

/// How long what a program left behind may take to go by itself.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// How long is waited for the end of a stream that somebody who can't be ended keeps open.
const STREAM_PATIENCE: Duration = Duration::from_secs(2);
/// How much of standard error is listened to.
const LISTENED: usize = 64 * 1024;
/// The longest word that is heard.
const MAX_HEARD: usize = 128;

/// A program to be started and outlived.
#[derive(Debug)]
pub struct Hosted<'a> {
    /// The file.
    pub file: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Where it runs.
    pub cwd: &'a Path,
    /// Variables that it gets besides ours.
    pub vars: &'a [(&'static str, OsString)],
    /// Which of them marks all that descends from it.
    pub mark: &'static str,
    /// What it reads; `None`: nothing. At a terminal it has that.
    pub stdin: Option<&'a [u8]>,
    /// Whether the terminal is handed over.
    pub terminal: bool,
    /// How much of its output is kept instead of being passed on; `None`: it goes where ours goes.
    pub keep: Option<usize>,
    /// The text on its standard error behind which there is a word to be heard.
    pub listen: Option<&'a str>,
    /// How long it may take to end once it was told to.
    pub grace: Duration,
}

/// How it ended.
#[derive(Debug)]
pub struct Over {
    /// As a shell has it: its exit code, or 128 and the number of the signal that ended it.
    pub code: u8,
    /// Whether it ended because we were asked to.
    pub told: bool,
    /// What was kept of its output.
    pub output: Vec<u8>,
    /// Whether there was more.
    pub cut: bool,
    /// The word that was heard.
    pub heard: Option<String>,
    /// What it left behind, and how that ended.
    pub behind: Ended,
}

/// What was read of a stream: the start that was asked for, and whether there was more.
type Start = (Vec<u8>, bool);

impl Hosted<'_> {
    /// Runs it to its end. Needs the signals held back, so that none is lost.
    ///
    /// # Errors
    /// Where it can't be started, with nothing left of the attempt.
    pub fn run(&self, held: &Deaf) -> io::Result<Over> {
        // Where the system has no such thing, group and mark have to do.
        let _ = lineage::adopt_orphans();
        let terminal = self.terminal.then(Terminal::ours).flatten();
        let mut child = self.start(held, terminal.is_some())?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let leader = Identity { pid, start: super::process::start_ticks(pid).unwrap_or(0), boot: super::process::boot_id() };
        let mark = self.vars.iter().find(|(name, _)| *name == self.mark).map(|(name, value)| ((*name).to_owned(), value.clone()));
        let lineage = Lineage { leader, mark, descent: cfg!(target_os = "linux") };
        if let Some(terminal) = &terminal {
            terminal.give(Pid::from_raw(pid));
        }
        let streams = self.streams(&mut child);
        let (status, told) = self.stand_by(pid, &lineage, terminal.as_ref())?;
        let mut ended = lineage.end(if status.is_some() { self.grace.min(AFTERWARDS) } else { Duration::ZERO }, || held.is_asked_to_end());
        if let Some(terminal) = &terminal {
            terminal.take_back();
        }
        let code = match status {
            Some(code) => code,
            // It was killed just now; one that can't be is among those that are left.
            None if ended.left.iter().any(|one| one.identity.pid == pid) => 128 + Signal::SIGKILL as u8,
            None => code_of(waitpid(Pid::from_raw(pid), None)?).unwrap_or(u8::MAX),
        };
        lineage::reap_orphans(0);
        ended.gone.retain(|one| one.identity.pid != pid);
        let wait =
            |stream: Option<Receiver<Start>>| stream.and_then(|stream| stream.recv_timeout(STREAM_PATIENCE).ok()).unwrap_or_default();
        let (output, cut) = wait(streams.0);
        let heard = self.listen.and_then(|text| word_behind(&wait(streams.1).0, text));
        Ok(Over { code, told, output, cut, heard, behind: ended })
    }

    fn start(&self, held: &Deaf, foreground: bool) -> io::Result<Child> {
        let mut command = Command::new(self.file);
        command.args(self.args).current_dir(self.cwd).process_group(0);
        command.envs(self.vars.iter().map(|(name, value)| (OsStr::new(name), value)));
        if !self.terminal {
            command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        }
        if self.keep.is_some() {
            command.stdout(Stdio::piped());
        }
        if self.listen.is_some() && !self.terminal {
            command.stderr(Stdio::piped());
        }
        let before = held.before;
        #[cfg(target_os = "linux")]
        let parent = nix::unistd::getpid();
        #[expect(unsafe_code, reason = "signals, terminal and the parent's death are a child's own to set")]
        // SAFETY: between fork and exec only async-signal-safe calls are made, on values that were copied before.
        unsafe {
            command.pre_exec(move || {
                if foreground {
                    // Whoever takes a terminal from the background is stopped, unless that signal is held back.
                    let mut held = SigSet::empty();
                    held.add(Signal::SIGTTOU);
                    nix::sys::signal::sigprocmask(SigmaskHow::SIG_BLOCK, Some(&held), None)?;
                    let _ = nix::unistd::tcsetpgrp(io::stdin(), nix::unistd::getpid());
                }
                #[cfg(target_os = "linux")]
                {
                    // Where we are killed, there is nobody left to end it.
                    nix::sys::prctl::set_pdeathsig(Some(Signal::SIGTERM))?;
                    if nix::unistd::getppid() != parent {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                }
                Ok(nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?)
            });
        }
        command.spawn()
    }

    /// Feeds its input and drains its output, each beside us: who does not read, or never stops writing,
    /// holds up nobody.
    fn streams(&self, child: &mut Child) -> (Option<Receiver<Start>>, Option<Receiver<Start>>) {
        if let (Some(mut pipe), Some(data)) = (child.stdin.take(), self.stdin) {
            let data = data.to_vec();
            std::thread::spawn(move || drop(pipe.write_all(&data)));
        }
        let drain = |mut pipe: Box<dyn Read + Send>, keep: usize, listen: Option<Vec<u8>>| {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || {
                let (mut kept, mut cut, mut block) = (Vec::new(), false, [0_u8; 16384]);
                loop {
                    let count = match pipe.read(&mut block) {
                        Ok(0) => break,
                        Ok(count) => count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(_) => break,
                    };
                    let piece = block.get(..count).unwrap_or_default();
                    let Some(text) = &listen else {
                        let room = keep.saturating_sub(kept.len());
                        cut = cut || count > room;
                        kept.extend_from_slice(piece.get(..count.min(room)).unwrap_or_default());
                        continue;
                    };
                    // Nobody may be left to read it.
                    let _ = io::stderr().write_all(piece);
                    if !cut {
                        kept.extend_from_slice(piece);
                        let at = kept.windows(text.len().max(1)).position(|window| window == text);
                        match at {
                            Some(at) => cut = kept.len() - at > text.len() + MAX_HEARD,
                            // What is listened for may come last; it may have begun at the end of this.
                            None if kept.len() > keep => drop(kept.drain(..kept.len() - text.len().min(keep))),
                            None => {}
                        }
                    }
                }
                let _ = sender.send((kept, cut));
            });
            receiver
        };
        let output = child.stdout.take().map(|pipe| drain(Box::new(pipe), self.keep.unwrap_or(0), None));
        let words = child.stderr.take().map(|pipe| drain(Box::new(pipe), LISTENED, self.listen.map(|text| text.as_bytes().to_vec())));
        (output, words)
    }

    /// Waits until it has ended by itself (its code), or has to be ended (`None`); and whether we were asked to.
    fn stand_by(&self, pid: i32, lineage: &Lineage, terminal: Option<&Terminal>) -> io::Result<(Option<u8>, bool)> {
        let mut waited: SigSet = FORWARDED.into_iter().collect();
        waited.add(Signal::SIGCHLD);
        let leader = Pid::from_raw(pid);
        let mut told = false;
        let ended = loop {
            let status = match waitpid(leader, Some(WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED)) {
                Err(nix::errno::Errno::EINTR) => continue,
                other => other?,
            };
            if let Some(code) = code_of(status) {
                break Some(code);
            }
            if let (WaitStatus::Stopped(..), Some(terminal)) = (status, terminal) {
                terminal.put_aside(leader);
                continue;
            }
            lineage::reap_orphans(pid);
            match wait_for_signal(&waited)?.0 {
                Signal::SIGCHLD => {}
                // The grace is over, or somebody is in a hurry.
                Signal::SIGALRM if told => break None,
                signal @ (Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT) => {
                    if told {
                        break None;
                    }
                    told = true;
                    lineage.signal(signal);
                    // Whoever is stopped hears nothing.
                    lineage.signal(Signal::SIGCONT);
                    nix::unistd::alarm::set(u32::try_from(self.grace.as_secs()).unwrap_or(u32::MAX).max(1));
                }
                signal => {
                    let _ = lineage.leader.signal(signal);
                }
            }
        };
        nix::unistd::alarm::cancel();
        Ok((ended, told))
    }
}

/// What a shell makes of an end; `None` where it is none.
fn code_of(status: WaitStatus) -> Option<u8> {
    match status {
        WaitStatus::Exited(_, code) => Some(u8::try_from(code).unwrap_or(u8::MAX)),
        WaitStatus::Signaled(_, signal, _) => Some(u8::try_from(128 + signal as i32).unwrap_or(u8::MAX)),
        _ => None,
    }
}

/// The word that stands behind some text, where it is a plain one.
fn word_behind(said: &[u8], text: &str) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let (_, rest) = said.split_once(text)?;
    let word: String = rest.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')).collect();
    (!word.is_empty() && word.len() <= MAX_HEARD && !word.starts_with('-')).then_some(word)
}

/// The terminal, and how we found it.
struct Terminal {
    settings: Option<Termios>,
    us: Pid,
}

impl Terminal {
    /// `None` where standard input is none, or is not ours to hand over.
    fn ours() -> Option<Self> {
        let us = nix::unistd::getpgrp();
        let there = io::stdin().is_terminal() && nix::unistd::tcgetpgrp(io::stdin()).is_ok_and(|group| group == us);
        there.then(|| Self { settings: termios::tcgetattr(io::stdin()).ok(), us })
    }

    fn give(&self, group: Pid) {
        self.set(group);
    }

    fn take_back(&self) {
        self.set(self.us);
        if let Some(settings) = &self.settings {
            // One that was killed leaves it as it had it.
            let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, settings);
        }
    }

    fn set(&self, group: Pid) {
        let mut quiet = SigSet::empty();
        quiet.add(Signal::SIGTTOU);
        let mut before = SigSet::empty();
        let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_BLOCK, Some(&quiet), Some(&mut before));
        let _ = nix::unistd::tcsetpgrp(io::stdin().as_fd(), group);
        let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
    }

    /// Somebody put it aside (Ctrl-Z): we go aside with it, and come back with it.
    fn put_aside(&self, group: Pid) {
        let worn = termios::tcgetattr(io::stdin()).ok();
        self.take_back();
        // To our whole group, as the terminal would; where no shell waits for that, nothing stops.
        let _ = nix::sys::signal::killpg(self.us, Signal::SIGTSTP);
        if nix::unistd::tcgetpgrp(io::stdin()).is_ok_and(|now| now == self.us) {
            self.give(group);
            if let Some(worn) = &worn {
                let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, worn);
            }
        }
        let _ = nix::sys::signal::killpg(group, Signal::SIGCONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_where_it_is_one() {
        let said = b"OpenX v1\n--------\nworkdir: /x\nsession id: 019a-7f_b.c\n--------\n";
        assert_eq!(word_behind(said, "session id: ").as_deref(), Some("019a-7f_b.c"));
        for (said, text) in [(&b"session id: \n"[..], "session id: "), (b"id: --evil", "id: "), (b"nothing", "id: "), (b"id: \xff", "id: ")]
        {
            assert_eq!(word_behind(said, text), None, "{said:?}");
        }
        assert_eq!(word_behind(format!("id: {}", "a".repeat(200)).as_bytes(), "id: "), None);
    }
}
