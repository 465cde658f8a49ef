//! `loci gate --for HARNESS`: what a harness starts before each tool call.
//!
//! [`selected`] knows nothing but that one line; whatever else begins with `gate` (a wrong name,
//! `--help`) goes to the parser of all verbs, which can say what is wrong with it.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::hooks::gate;
use crate::hooks::harness::{self, Adapter};
use crate::sys::env::Env;
use crate::sys::{process, term};

/// The adapter, where the command line is exactly the one that a relay calls.
pub(super) fn selected(mut words: impl Iterator<Item = OsString>) -> Option<&'static Adapter> {
    words.next()?;
    if words.next()? != "gate" {
        return None;
    }
    let word = words.next()?;
    let name = match word.to_str()? {
        "--for" => words.next()?,
        joined => joined.strip_prefix("--for=")?.into(),
    };
    let adapter = harness::named(name.to_str()?)?;
    words.next().is_none().then_some(adapter)
}

/// Answers one call; the exit code is the harness's.
pub(super) fn run(adapter: &'static Adapter) -> ExitCode {
    ExitCode::from(answered(adapter))
}

/// Answers one call for a command line that only the parser of all verbs could read, and ends.
pub(super) fn end(adapter: &'static Adapter) -> ! {
    process::end(answered(adapter))
}

fn answered(adapter: &'static Adapter) -> u8 {
    // A panic is an answer like any other: the harness must not take its words for one.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = gate::answer(adapter, &Env::of_gate());
    // Where standard output is gone, the exit code and standard error still say it.
    let _ = term::out(answer.stdout.as_bytes());
    term::err(&answer.stderr);
    answer.code
}

#[cfg(test)]
mod tests {
    use super::selected;

    fn name(line: &str) -> Option<&'static str> {
        selected(line.split(' ').map(Into::into)).map(|adapter| adapter.name)
    }

    #[test]
    fn only_the_line_of_a_relay_is_selected() {
        assert_eq!(name("loci gate --for claude"), Some("claude"));
        assert_eq!(name("/x/loci gate --for=pi"), Some("pi"));
        for line in [
            "loci",
            "loci gate",
            "loci gate --for",
            "loci gate --for nobody",
            "loci gate --for claude x",
            "loci gates --for claude",
            "gate --for claude",
        ] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
