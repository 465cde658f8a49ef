//! What harnesses start: `loci gate --for HARNESS` before each tool call, `loci hook SEAM --for HARNESS` at
//! the other seams of a turn.
//!
//! [`selected`] knows nothing but these two lines; whatever else begins with `gate` or `hook` (a wrong name,
//! `--help`) goes to the parser of all verbs, which can say what is wrong with it.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::clock::loops::seam::GUEST;
use crate::hooks::answer::Reply;
use crate::hooks::event::Seam;
use crate::hooks::harness::{self, Adapter};
use crate::hooks::{gate, relay};
use crate::sys::env::Env;
use crate::sys::{process, term};

/// What is asked: where in the turn, and by whom.
pub(super) type Asked = (Seam, &'static Adapter);

/// The question, where the command line is exactly the one that a relay calls.
pub(super) fn selected(mut words: impl Iterator<Item = OsString>) -> Option<Asked> {
    words.next()?;
    let verb = words.next()?;
    let seam = match verb.to_str()? {
        "gate" => Seam::BeforeTool,
        "hook" => Seam::of(words.next()?.to_str()?)?,
        _ => return None,
    };
    let word = words.next()?;
    let name = match word.to_str()? {
        "--for" => words.next()?,
        joined => joined.strip_prefix("--for=")?.into(),
    };
    let adapter = harness::named(name.to_str()?)?;
    words.next().is_none().then_some((seam, adapter))
}

/// Answers; the exit code is the harness's.
pub(super) fn run(asked: Asked) -> ExitCode {
    ExitCode::from(answered(asked))
}

/// Answers for a command line that only the parser of all verbs could read, and ends.
pub(super) fn end(asked: Asked) -> ! {
    process::end(answered(asked))
}

fn answered((seam, adapter): Asked) -> u8 {
    // A panic is an answer like any other: the harness must not take its words for one.
    std::panic::set_hook(Box::new(|_| {}));
    let env = Env::of_gate();
    let Reply { stdout, stderr, code } =
        if seam == Seam::BeforeTool { gate::answer(adapter, &env) } else { relay::answer(adapter, seam, &env, &GUEST) };
    // Where standard output is gone, the exit code and standard error still say it.
    let _ = term::out(stdout.as_bytes());
    term::err(&stderr);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> Option<(Seam, &'static str)> {
        selected(line.split(' ').map(Into::into)).map(|(seam, adapter)| (seam, adapter.name))
    }

    #[test]
    fn only_the_line_of_a_relay_is_selected() {
        assert_eq!(name("loci gate --for claude"), Some((Seam::BeforeTool, "claude")));
        assert_eq!(name("/x/loci gate --for=pi"), Some((Seam::BeforeTool, "pi")));
        assert_eq!(name("loci hook after-tool --for claude"), Some((Seam::AfterTool, "claude")));
        assert_eq!(name("loci hook before_run --for=pi"), Some((Seam::BeforeRun, "pi")));
        assert_eq!(name("loci hook before-tool --for pi"), Some((Seam::BeforeTool, "pi")));
        for line in [
            "loci",
            "loci gate",
            "loci gate --for",
            "loci gate --for nobody",
            "loci gate --for claude x",
            "loci gates --for claude",
            "gate --for claude",
            "loci hook",
            "loci hook after-tool",
            "loci hook --for claude",
            "loci hook after-lunch --for pi",
            "loci hook after-tool --for pi x",
        ] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
