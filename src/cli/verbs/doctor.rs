//! `loci doctor`: everything that is wrong below a directory.

mod bodies;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;

use super::tree::root;
use super::{clock, jobs, loops};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::text_of;
use crate::cli::{Answer, Outcome};
use crate::clock::job::LoadError;
use crate::hooks::event::Seam;
use crate::hooks::place::Ground;
use crate::hooks::{declare, find, switches, trust};
use crate::sys::{disk, shown};
use crate::tree::doctor::{self, Finding};
use crate::tree::dotdirs::{self, Dotdirs};
use crate::tree::{card, real, settings};

/// How much of a hook is looked at for its header, in bytes.
const HEADER: u64 = 64 << 10;

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
    let named_dotdirs = match settings::load(&context.home) {
        Ok(settings) => settings.dotdirs,
        Err(_) if home.starts_with(&root) => settings::Settings::default().dotdirs,
        Err(error) => return Err(error.into()),
    };
    let mut sweep = doctor::sweep(&root, &home, &named_dotdirs);
    sweep.findings.extend(bodies::of(context, &sweep.own, &home));
    for dir in std::mem::take(&mut sweep.own) {
        sweep.findings.extend(hooks(&dir));
        sweep.findings.extend(named(context, &dir, &named_dotdirs));
        if disk::is_dir(&dir.join(dotdirs::RUNTIME)) {
            sweep.findings.extend(scheduled(context, &dir));
        }
    }
    sweep.findings.sort();
    sweep.findings.dedup();
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

/// The jobs and loops that the clock of a root refuses.
fn scheduled(context: &Context, dir: &Path) -> Vec<Finding> {
    let finding = |error: &LoadError, code: &'static str, fix: &str| {
        let field = error.field.as_deref().map(|field| format!("{field}: ")).unwrap_or_default();
        Finding { path: error.path.clone(), line: error.line, code, text: format!("{field}{}", error.why), fix: fix.to_owned() }
    };
    // What keeps all of them from being read is a finding too.
    let whole = |failure: &Failure| Finding {
        path: dir.join(dotdirs::RUNTIME),
        line: None,
        code: "clock-unread",
        text: failure.to_string().lines().next().unwrap_or_default().to_owned(),
        fix: "loci jobs".to_owned(),
    };
    let root = match clock::root_at(context, dir) {
        Ok(root) => root,
        Err(failure) => return vec![whole(&failure)],
    };
    let mut findings = Vec::new();
    match jobs::read_all(&root) {
        Ok(found) => findings
            .extend(found.errors.iter().map(|one| finding(one, "job-refused", "mend it; `loci jobs check FILE` says whether it is a job"))),
        Err(failure) => findings.push(whole(&failure)),
    }
    match loops::read_all(&root) {
        Ok(found) => {
            let refused = found.values().filter_map(|one| one.as_ref().err());
            findings.extend(refused.map(|one| finding(one, "loop-refused", "mend it; `loci jobs check FILE` says whether it is a loop")));
        }
        Err(failure) => findings.push(whole(&failure)),
    }
    findings
}

/// The hooks of a directory whose header can't be made sense of.
fn hooks(dir: &Path) -> Vec<Finding> {
    let folders = [dotdirs::IDENTITY, dotdirs::RUNTIME].map(|name| dir.join(name).join("hooks"));
    let entries = folders.iter().flat_map(|folder| disk::list(folder).into_iter().flatten().map(|entry| folder.join(entry.name)));
    let bad = |path: PathBuf| {
        let remarks = declare::header(&disk::read_start(&path, HEADER).ok()?.0)?.err()?;
        let fix = format!("name one of these in its `hook-events` line: {}", Seam::ALL.map(Seam::word).join(", "));
        Some(Finding { path, line: None, code: "hook-broken", text: remarks.join("; "), fix })
    };
    entries.filter(|path| disk::is_file(path)).filter_map(bad).collect()
}

/// The names in the set of hooks of an identity file that no hook has.
fn named(context: &Context, dir: &Path, dotdirs: &Dotdirs) -> Vec<Finding> {
    let Some(card) = card::agent(dir).and_then(Result::ok).filter(|card| card.hooks.is_some()) else { return Vec::new() };
    let trust = trust::load(&context.state);
    let ground = Ground { home: Some(&context.home), launch: Some(dir), place: None, dotdirs, trust: &trust, harness: "" };
    let around = find::hooks(&ground);
    let finding = |(name, near)| Finding {
        path: card.path.clone(),
        line: card.hooks_line,
        code: "hook-unknown",
        text: switches::unknown_words(name, near),
        fix: "name a hook of `loci hooks status`; all others are off".to_owned(),
    };
    switches::unknown(&card, &around.all).into_iter().map(finding).collect()
}
