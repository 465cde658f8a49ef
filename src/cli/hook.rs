//! `loci hook after-tool --for HARNESS`: what a harness starts after each tool call.
//!
//! [`selected`] knows nothing but that one line, as the gate does; whatever else begins with `hook`
//! goes to the parser of all verbs.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::hooks::after;
use crate::hooks::harness::{self, Adapter};
use crate::sys::env::Env;
use crate::sys::term;

/// The adapter, where the command line is exactly the one that a relay calls.
pub(super) fn selected(mut words: impl Iterator<Item = OsString>) -> Option<&'static Adapter> {
    words.next()?;
    if words.next()? != "hook" || words.next()? != "after-tool" {
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

/// Takes one call in. Nothing that happens here is the harness's business: the exit code is 0.
pub(super) fn run(adapter: &'static Adapter) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let said = after::take(adapter, &Env::of_gate());
    if !said.is_empty() {
        term::err(&said);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::selected;

    fn name(line: &str) -> Option<&'static str> {
        selected(line.split(' ').map(Into::into)).map(|adapter| adapter.name)
    }

    #[test]
    fn only_the_line_of_a_relay_is_selected() {
        assert_eq!(name("loci hook after-tool --for claude"), Some("claude"));
        assert_eq!(name("/x/loci hook after-tool --for=pi"), Some("pi"));
        for line in
            ["loci hook", "loci hook after-tool", "loci hook before-run --for pi", "loci hook after-tool --for pi x", "loci gate --for pi"]
        {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
