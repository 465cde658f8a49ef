//! `trap`: what a shell runs when something happens to it, and when that is.
//!
//! Where it is certain that a trap runs, it runs there. Where it may run (a signal that somebody may send, a command that
//! may fail), its acts are noted and the rest is followed as if it had not run: what is true for both is found.

use super::engine::{Engine, UNK};
use super::state::Shell;

/// Most times that the traps of one shell are followed, before its end.
const MAX_FIRED: u32 = 24;
/// Signals by their numbers.
const NUMBERS: &[(&str, &str)] = &[
    ("0", "EXIT"),
    ("1", "HUP"),
    ("2", "INT"),
    ("3", "QUIT"),
    ("6", "ABRT"),
    ("10", "USR1"),
    ("12", "USR2"),
    ("13", "PIPE"),
    ("14", "ALRM"),
    ("15", "TERM"),
    ("17", "CHLD"),
    ("18", "CONT"),
    ("24", "XCPU"),
    ("25", "XFSZ"),
];
/// What is no signal.
const SHELLS_OWN: &[&str] = &["EXIT", "ERR", "DEBUG", "RETURN"];
/// Signals that come without anybody sending them: from a child, a pipe, a limit, a clock.
const BY_THEMSELVES: &[&str] = &["CHLD", "CLD", "PIPE", "ALRM", "XCPU", "XFSZ"];
/// Programs that send signals.
const SENDERS: &[&str] = &["kill", "pkill", "killall", "killall5", "skill", "snice", "fuser", "timeout", "gtimeout", "prlimit"];

/// The name of a signal, however it is written.
fn named(word: &str) -> String {
    let upper = word.to_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    NUMBERS.iter().find(|(number, _)| *number == bare).map_or_else(|| bare.to_owned(), |(_, name)| (*name).to_owned())
}

/// Whether a call may send a signal.
pub(super) fn sends(argv: &[String]) -> bool {
    let name = argv.first().map_or("", |name| super::picture::split(name).1);
    let asks = argv.get(1).is_some_and(|word| matches!(word.as_str(), "-0" | "-l" | "-L"));
    SENDERS.contains(&name) && !asks || argv.iter().skip(1).any(|word| word.contains("kill") || word.contains("alarm"))
}

/// The functions that a Z shell takes for traps, as it has them at its end.
pub(super) fn functions(sh: &Shell) -> Vec<(String, String)> {
    if sh.arg0 != "zsh" {
        return Vec::new();
    }
    let trap = |name: &String| name.strip_prefix("TRAP").map(|signal| (signal.replace("ZERR", "ERR"), name.clone()));
    sh.funcs.keys().filter_map(trap).collect()
}

impl Engine<'_> {
    /// `trap`: sets and takes back. What is taken back may have run before that.
    pub(super) fn trap(&mut self, sh: &mut Shell, args: &[String]) {
        let mut words = args;
        let mut prints = false;
        while let Some(first) = words.first() {
            match first.as_str() {
                "-p" | "-P" => prints = true,
                "-l" => return,
                "--" => {
                    words = &words[1..];
                    break;
                }
                _ => break,
            }
            words = &words[1..];
        }
        if prints || words.is_empty() {
            if sh.trapped || !sh.traps.is_empty() {
                self.put(sh, 1, &UNK.to_string());
            }
            return;
        }
        let lone = words.len() == 1 || words[0].chars().all(|c| c.is_ascii_digit()) && !words[0].is_empty();
        let (body, signals) = if lone { ("-", words) } else { (words[0].as_str(), &words[1..]) };
        for signal in signals {
            let name = named(signal);
            if let Some(at) = sh.traps.iter().position(|(set, _)| *set == name) {
                if self.may_arrive(sh, &name) {
                    self.fire(sh, &name, false);
                }
                sh.traps.remove(at);
            }
            if body != "-" {
                sh.traps.push((name, body.to_owned()));
            }
        }
    }

    /// Whether a signal may come.
    pub(super) fn may_arrive(&self, sh: &Shell, name: &str) -> bool {
        !SHELLS_OWN.contains(&name) && (sh.killed || self.signalled || BY_THEMSELVES.contains(&name))
    }

    /// Runs a trap where one is set; where it is not `sure` that it runs, only what it does is noted.
    pub(super) fn fire(&mut self, sh: &mut Shell, name: &str, sure: bool) {
        if sh.traps.is_empty() || sh.trapping {
            return;
        }
        let Some(body) = sh.traps.iter().find(|(set, body)| set == name && !body.is_empty()).map(|(_, body)| body.clone()) else { return };
        if sh.fired >= MAX_FIRED {
            self.unknown("a trap runs too often to follow", name);
            return;
        }
        sh.fired += 1;
        if sure {
            sh.trapping = true;
            let status = sh.status;
            self.script(sh, &body);
            sh.status = status;
            sh.trapping = false;
        } else {
            let kept = self.fs.keep();
            let mut aside = sh.clone();
            aside.trapping = true;
            self.script(&mut aside, &body);
            self.fs.back(kept);
        }
    }

    /// Runs the traps for signals, after one may have been sent.
    pub(super) fn fire_signals(&mut self, sh: &mut Shell) {
        let names: Vec<String> =
            sh.traps.iter().map(|(name, _)| name.clone()).filter(|name| !SHELLS_OWN.contains(&name.as_str())).collect();
        for name in names {
            self.fire(sh, &name, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{named, sends};

    #[test]
    fn a_signal_has_one_name() {
        assert_eq!(["exit", "SIGUSR1", "10", "usr1", "Debug"].map(named), ["EXIT", "USR1", "USR1", "USR1", "DEBUG"]);
    }

    #[test]
    fn asking_for_a_process_sends_it_nothing() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(sends(&words("/bin/kill -USR1 1")) && sends(&words("python3 -c os.kill(1,2)")));
        assert!(!sends(&words("kill -0 1")) && !sends(&words("echo hello")));
    }
}
