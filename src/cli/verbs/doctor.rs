//! `loci doctor`: everything that is wrong below a directory.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::json;

use super::tree::root;
use crate::cli::context::Context;
use crate::cli::output::text_of;
use crate::cli::{Answer, Outcome};
use crate::sys::shown;
use crate::tree::doctor::{self, Finding};
use crate::tree::{real, settings};

/// What can be said to `loci doctor`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  loci doctor
  loci doctor agents/billing --json

Exit 0: nothing found. Exit 1: something found.")]
pub struct Args {
    /// The directory to look through (default as for `loci tree`)
    dir: Option<PathBuf>,
}

/// Runs `loci doctor`.
///
/// # Errors
/// Where the directory is none.
pub fn run(context: &Context, args: Args) -> Outcome {
    let root = root(context, args.dir.as_deref())?;
    let home = real::real(&context.home, true).path;
    // Broken settings are a finding where they lie; elsewhere they stop the sweep like any verb.
    let dotdirs = match settings::load(&context.home) {
        Ok(settings) => settings.dotdirs,
        Err(_) if home.starts_with(&root) => settings::Settings::default().dotdirs,
        Err(error) => return Err(error.into()),
    };
    let sweep = doctor::sweep(&root, &home, &dotdirs);
    let words = || {
        let mut text = String::new();
        for Finding { path, line, code, text: what, fix } in &sweep.findings {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = writeln!(text, "{}{line} {} [{code}]\n  fix: {}", context.shown(path), shown::text(what), shown::text(fix));
        }
        let count = sweep.findings.len();
        let _ = writeln!(text, "{} in {}", shown::count(count, "finding", "findings"), shown::count(sweep.places, "place", "places"));
        text
    };
    let object = || {
        let findings = sweep.findings.iter();
        let finding =
            |one: &Finding| json!({ "code": one.code, "path": text_of(&one.path), "line": one.line, "text": one.text, "fix": one.fix });
        json!({ "schema": 1, "root": text_of(&root), "places": sweep.places, "findings": findings.map(finding).collect::<Vec<_>>() })
    };
    context.print(words, object)?;
    Ok(if sweep.findings.is_empty() { Answer::Yes } else { Answer::No })
}
