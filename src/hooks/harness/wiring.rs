//! How a harness is told to ask: where its settings are, what is put there, and the commands of the
//! relays.

use serde_json::Value;

use super::super::event::{Point, Seam};

/// Where a harness keeps its hooks, and what stands there when it is connected.
#[derive(Debug, Clone, Copy)]
pub struct Wiring {
    /// Its configuration folder below the user's home.
    pub folder: &'static str,
    /// The variable that moves the folder, and what is added to its value.
    pub moved_by: (&'static str, &'static str),
    /// The file in that folder; of several, the first one.
    pub file: &'static str,
    /// The file below a project that is tracked with it; `None` where the harness reads none.
    pub shared: Option<&'static str>,
    /// The file below a project that is one user's alone; `None` where the harness reads none.
    pub local: Option<&'static str>,
    /// What is put there.
    pub relay: Relay,
    /// What the harness still wants before it asks, in sentences; empty where it asks at once.
    pub needs: &'static [&'static str],
    /// What it wants besides for a file that is part of a project.
    pub needs_shared: &'static [&'static str],
}

/// What is put into a harness's configuration.
#[derive(Debug, Clone, Copy)]
pub enum Relay {
    /// Elements of the lists `hooks.EVENT` of a JSON file.
    Groups {
        /// Whether its own parser takes comments there. None takes a trailing comma, and each throws the whole file away
        /// for what it does not take.
        comments: bool,
        /// Whether it takes a byte order mark first: the others can't read the file then.
        mark: bool,
        /// The elements at one of its events.
        groups: fn(&Call, &Point) -> Vec<Value>,
        /// Further events, which are no seams, with their elements.
        more: &'static [More],
        /// A setting that switches all hooks off: the keys on the way to it, and its value.
        off: Option<(&'static [&'static str], bool)>,
    },
    /// Elements of the lists `hooks.EVENT` of a YAML file.
    Yaml(fn(&Call, &Point) -> Vec<Value>),
    /// Files that are ours as a whole, beside each other; the first one is the one that the wiring names.
    Files(fn(&Call) -> Vec<Ours>),
}

/// An event that is no seam, by its name, and the elements there.
pub type More = (&'static str, fn(&Call) -> Vec<Value>);

/// A file that is ours as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    /// Its name, without the folder.
    pub name: String,
    /// What stands in it.
    pub text: String,
    /// Whether the harness runs it as a program.
    pub program: bool,
}

/// How a relay calls loci.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The program, by the name that stays true; `None` where whoever has the file has a home of
    /// their own, and perhaps no loci: the call then passes where the program is missing.
    pub program: Option<String>,
    /// The harness.
    pub harness: &'static str,
    /// Whether it only watches: no relay stands before a call, and none says a word.
    pub observe: bool,
}

/// What the model reads where a relay for tools that write got no answer.
pub const NO_ANSWER: &str = "loci: the gate did not answer, and this tool can write: the call was not made. Go on with what needs no writing, and tell your user to run `loci connect --check`.";

/// The seams around those of a tool call at which a harness tells `loci hook`.
pub(super) const RELAYED: &[Seam] =
    &[Seam::BeforeRun, Seam::AfterRun, Seam::BeforeIteration, Seam::AfterIteration, Seam::BeforeSystemPrompt];

impl Call {
    /// The command before a tool call, for a shell.
    #[must_use]
    pub fn command(&self) -> String {
        if self.program.is_none() { self.lenient() } else { self.gate() }
    }

    /// The command before a tool call that passes where the program is missing, also for a harness that
    /// takes a missing one for a denial.
    #[must_use]
    pub fn lenient(&self) -> String {
        format!("{}; exec {}", self.guard(), self.gate())
    }

    /// The command before a call of a tool that writes, for a harness that lets a call through whose hook
    /// fails: where no gate answers, because it is gone, was ended or takes too long, `denial` is said on
    /// standard output, [`NO_ANSWER`] on standard error, and the exit code is 2.
    #[must_use]
    pub fn closing(&self, denial: &str) -> String {
        let guard = if self.program.is_none() { format!("{}; ", self.guard()) } else { String::new() };
        let said = if denial.is_empty() { String::new() } else { format!("echo {}; ", quoted(denial)) };
        format!("{guard}{}; [ $r = 0 ] || [ $r = 2 ] || {{ {said}echo {} >&2; r=2; }}; exit $r", self.timed(), quoted(NO_ANSWER))
    }

    /// The gate, bounded where the machine has a `timeout`; the variable `r` holds its exit code then.
    pub(super) fn timed(&self) -> String {
        let gate = self.gate();
        format!("if command -v timeout >/dev/null 2>&1; then timeout -k 1 30 {gate}; else {gate}; fi; r=$?")
    }

    /// As [`Call::timed`], with the payload from the variable `p`.
    pub(super) fn piped(&self) -> String {
        let gate = self.gate();
        format!(
            "if command -v timeout >/dev/null 2>&1; then printf %s \"$p\" | timeout -k 1 30 {gate}; else printf %s \"$p\" | {gate}; fi; r=$?"
        )
    }

    /// The command of the relay at another seam, for a shell: where the program is missing nothing
    /// happens. One that only watches says nothing, and nobody waits for it.
    #[must_use]
    pub fn hook(&self, seam: Seam) -> String {
        let hook = format!("{} hook {} --for {}", self.word(), seam.word(), self.harness);
        if self.observe {
            let guard = self.guard();
            return format!("{guard}; p=$(cat); (printf %s \"$p\" | {hook} >/dev/null 2>&1 &) >/dev/null 2>&1; exit 0");
        }
        format!("{}; exec {hook}", self.guard())
    }

    /// Whether a relay is put in at that seam. `loci gate` stands before a tool call and `loci hook` at the
    /// others; one that only watches looks at what has happened.
    #[must_use]
    pub fn at(&self, seam: Seam) -> bool {
        match seam {
            Seam::BeforeTool => !self.observe,
            Seam::AfterTool => true,
            seam => !self.observe && RELAYED.contains(&seam),
        }
    }

    /// The gate, without anything around it.
    pub(super) fn gate(&self) -> String {
        format!("{} gate --for {}", self.word(), self.harness)
    }

    /// Ends well where the program is missing.
    pub(super) fn guard(&self) -> String {
        format!("[ -x {} ] || exit 0", self.word())
    }

    /// The program as one word of a shell.
    fn word(&self) -> String {
        match &self.program {
            None => "\"${LOCI_HOME:-$HOME}/.loci/bin/loci\"".to_owned(),
            Some(path) if path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte)) => path.clone(),
            Some(path) => quoted(path),
        }
    }
}

/// A text as one word of a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Why a program is no relay of ours, or that it is one: relays call the link in the registry of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// It calls the link that relays call.
    Ours,
    /// It calls another program of that name.
    Foreign,
    /// It calls something else.
    Nobodys,
}

/// Whose a command is that stands in a harness's settings.
#[must_use]
pub fn whose(command: &str, harness: &str) -> Whose {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-' || next == '_');
    let verb = |at: usize| {
        let (program, rest) = command.split_at(at);
        let mut words = rest.split_whitespace();
        let called = match words.next() {
            Some("gate") => true,
            Some("hook") => words.next().is_some_and(|seam| Seam::of(seam).is_some()),
            _ => false,
        };
        let told = words.next() == Some("--for")
            && rest.split_once("--for ").is_some_and(|(_, name)| name.strip_prefix(harness).is_some_and(ends));
        let program = program.trim_end().trim_end_matches(['"', '\'', '\\']);
        (called && told).then_some(program)
    };
    let programs = command.match_indices(" gate ").chain(command.match_indices(" hook ")).filter_map(|(at, _)| verb(at + 1));
    programs.fold(Whose::Nobodys, |whose, program| match whose {
        Whose::Nobodys if program.ends_with("/.loci/bin/loci") => Whose::Ours,
        Whose::Nobodys if program.ends_with("/loci") => Whose::Foreign,
        whose => whose,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(program: Option<&str>, observe: bool) -> Call {
        Call { program: program.map(str::to_owned), harness: "codex", observe }
    }

    #[test]
    fn every_command_of_ours_is_told_to_be_ours() {
        for program in [Some("/h/.loci/bin/loci"), Some("/h/a 'b/.loci/bin/loci"), None] {
            let call = call(program, false);
            for command in [call.command(), call.lenient(), call.closing("{\"a\":1}"), call.hook(Seam::AfterTool)] {
                assert_eq!(whose(&command, "codex"), Whose::Ours, "{command}");
                assert_eq!(whose(&command, "cod"), Whose::Nobodys, "{command}");
                assert_eq!(whose(&quoted(&command), "codex"), Whose::Ours, "{command}");
            }
        }
        assert_eq!(whose(&call(Some("/h/.loci/bin/loci"), true).hook(Seam::AfterTool), "codex"), Whose::Ours);
    }

    #[test]
    fn what_looks_like_it_is_not() {
        for (command, wanted) in [
            ("/x/loci gate --for codex", Whose::Foreign),
            ("/x/notloci gate --for codex", Whose::Nobodys),
            ("/h/.loci/bin/loci gate --for codex-next", Whose::Nobodys),
            ("/h/.loci/bin/loci hook --for codex", Whose::Nobodys),
            ("/h/.loci/bin/loci hook nonsense --for codex", Whose::Nobodys),
            ("echo gate --for codex", Whose::Nobodys),
            ("", Whose::Nobodys),
            (" gate ", Whose::Nobodys),
        ] {
            assert_eq!(whose(command, "codex"), wanted, "{command}");
        }
    }

    #[test]
    fn a_closing_command_denies_where_no_gate_answers() {
        let run = |script: &str| {
            let done = crate::sys::program::Program {
                file: std::path::Path::new("/bin/sh"),
                args: vec!["-c".into(), script.into()],
                cwd: std::path::Path::new("/"),
                env: crate::sys::env::Env::of_process().vars,
                stdin: b"{}",
                limit: std::time::Duration::from_secs(20),
                keep: 1 << 16,
            };
            let done = done.run().unwrap();
            (done.code, String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
        };
        let (code, out, err) = run(&call(Some("/nonexistent/.loci/bin/loci"), false).closing("{\"a\":\"it's\"}"));
        assert_eq!((code, out.as_str()), (Some(2), "{\"a\":\"it's\"}\n"));
        assert!(err.contains(NO_ANSWER), "{err}");
        // `true` answers with a pass whatever it is asked.
        let passes = call(Some("/nonexistent/.loci/bin/loci"), false).closing("x").replace("/nonexistent/.loci/bin/loci", "true");
        assert_eq!(run(&passes), (Some(0), String::new(), String::new()));
        assert_eq!(run(&call(None, false).closing("x").replace("${LOCI_HOME:-$HOME}", "/nonexistent")).0, Some(0));
        assert_eq!(run(&call(Some("/nonexistent/.loci/bin/loci"), true).hook(Seam::AfterTool)), (Some(0), String::new(), String::new()));
    }

    #[test]
    fn the_gate_reads_every_variable_that_moves_a_folder() {
        assert!(crate::hooks::harness::ALL.iter().all(|adapter| crate::sys::env::HARNESS_FOLDERS.contains(&adapter.wiring.moved_by.0)));
    }
}
