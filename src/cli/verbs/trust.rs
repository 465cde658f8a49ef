//! `loci trust`: what a directory brings along may run, and be read to a model, as it is now.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::grants;
use crate::custody::person::Person;
use crate::hooks::trust::{self, TrustError};
use crate::sys::{disk, random, shown, term, time};
use crate::tree::dotdirs::Dotdirs;
use crate::tree::{climb, real, settings};

/// Let the hooks, rules and personas in a directory take effect, as they are now
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Hooks are code, and rules and personas are words to a model: those of a directory that somebody else has made take no effect until\na person has looked at them. At a terminal, and with --dry-run, every file is shown first; --yes shows none. One that is new or changes later takes no effect, until this is called again,\nwhich shows what has changed. It holds on this machine alone.\n\nExamples:\n  loci trust services/billing\n  loci trust services/billing --yes\n  loci trust services/billing --revoke"
)]
pub struct Args {
    /// The directory, with all below
    dir: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Take it back
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
    /// Print what would be trusted, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
///
/// # Errors
/// Where the directory can't be read, or the grant can't be written.
pub fn run(context: &Context, args: Args) -> Outcome {
    let found = real::real(&context.absolute(&args.dir), true);
    if !found.exists {
        return Err(Failure::new("path", format!("failed to trust {}: it is not there", shown::path(&args.dir))).at(&found.path, None));
    }
    let dir = found.path;
    if !args.revoke && !disk::is_dir(&dir) {
        let failure = Failure::new("path", "failed to trust a file: what stands in a directory is trusted as a whole").at(&dir, None);
        return Err(failure.hint(format!("loci trust {}", word(&whole(&dir, &settings::load(&context.home)?.dotdirs)))));
    }
    let trust = trust::load(&context.state);
    let before: Vec<&trust::Root> = trust.roots.iter().filter(|root| root.path == dir).collect();
    let ids: Vec<String> = before.iter().map(|root| root.id.clone()).collect();
    let flags = if args.revoke { " --revoke" } else { "" };
    let command = format!("loci trust {}{flags}", word(&dir));
    if args.revoke {
        return revoke(context, &args, &dir, &ids, &command, &trust);
    }
    let settings = settings::load(&context.home)?;
    let files = trust::inside(&dir, &settings.dotdirs).map_err(failure)?;
    let changes = trust::difference(before.last().copied(), &files);
    let digests = files.iter().map(|(path, seen)| (path.clone(), seen.sha256.clone())).collect();
    let content = trust::content(&digests);
    let done = changes.is_empty() && !before.is_empty();
    if !args.dry_run && !done {
        if let Some(answer) = grant::or_request(context, &grants::file(&context.state), &command)? {
            return Ok(answer);
        }
        let shown_text = diff_text(&changes);
        let asked = context.sink.is_none() && !args.yes;
        if asked && context.asks() {
            context.say(&shown_text);
            let answer = term::ask(&format!("Trust {} of {}? [y/N] ", count(files.len()), context.shown(&dir)))
                .map_err(|error| Failure::new("io", "failed to ask").caused_by(&error))?;
            if !answer.is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes")) {
                context.say("nothing was trusted");
                return Ok(Answer::No);
            }
        } else if asked {
            context.say(&shown_text);
            return Err(Failure::new("terminal", "failed to trust: there is no terminal to ask at").hint(format!("{command} --yes")));
        }
        let salt = random::hex20().map_err(|error| Failure::new("io", "failed to get a random id").caused_by(&error))?;
        trust::grant(&context.state, &dir, &files, &ids, time::now(), &salt).map_err(failure)?;
    }
    let verb = match (done, args.dry_run) {
        (true, _) => "is trusted as it is",
        (false, true) => "would be trusted",
        (false, false) => "is trusted now",
    };
    let diffs = || changes.iter().map(|(path, diff)| json!({ "path": dir.join(path).to_string_lossy(), "diff": diff })).collect::<Vec<_>>();
    context.print(
        || {
            let what = if args.dry_run { diff_text(&changes) } else { String::new() };
            format!("{what}{} {verb}: {}, content {}\n", context.shown(&dir), count(files.len()), content.get(..12).unwrap_or_default())
        },
        || {
            json!({
                "schema": 1, "done": !args.dry_run, "root": dir.to_string_lossy(), "content": content,
                "files": files.iter().map(|(path, seen)| json!({ "path": path.to_string_lossy(), "sha256": seen.sha256 })).collect::<Vec<_>>(),
                "changes": diffs(),
            })
        },
    )?;
    Ok(Answer::Yes)
}

fn count(files: usize) -> String {
    shown::count(files, "file", "files")
}

/// The directory that a file belongs to: above its dotdir, where it lies in one.
fn whole(file: &Path, dotdirs: &Dotdirs) -> PathBuf {
    let above = climb::nearest(file, |place| dotdirs.is_one(place)).unwrap_or(file);
    above.parent().unwrap_or(above).to_owned()
}

fn revoke(context: &Context, args: &Args, dir: &std::path::Path, ids: &[String], command: &str, trust: &trust::Trust) -> Outcome {
    // What another grant says goes on: who takes this one back is told of it.
    let others: Vec<&trust::Root> = trust.roots.iter().filter(|root| root.path != dir && root.reaches(dir)).collect();
    let told = |context: &Context| {
        for other in &others {
            let where_ = if dir.starts_with(&other.path) { "covers it still" } else { "lies below, and is trusted still" };
            let root = context.shown(&other.path);
            context.say(&format!(
                "note: the grant {} of {root} {where_}: loci trust {} --revoke",
                shown::text(&other.id),
                word(&other.path)
            ));
        }
    };
    if ids.is_empty() {
        if !args.dry_run && grant::person(context) == Person::Yes {
            trust::let_go(&context.state, dir);
        }
        let alone = if others.is_empty() { "is not trusted" } else { "is not trusted by itself" };
        context.say(&format!("{} {alone}", context.shown(dir)));
        told(context);
        context.print(String::new, || json!({ "schema": 1, "done": false, "revoked": [] }))?;
        return Ok(Answer::No);
    }
    if !args.dry_run {
        if let Some(answer) = grant::or_request(context, &grants::file(&context.state), command)? {
            return Ok(answer);
        }
        trust::revoke(&context.state, dir, ids, time::now())?;
    }
    let word = if args.dry_run { "would be taken back" } else { "taken back" };
    context.print(|| format!("{word}: {}\n", ids.join(" ")), || json!({ "schema": 1, "done": !args.dry_run, "revoked": ids }))?;
    told(context);
    Ok(Answer::Yes)
}

/// The changes for people: what a stranger wrote must not steer the terminal.
fn diff_text(changes: &[(PathBuf, String)]) -> String {
    let mut text = String::new();
    for (_, diff) in changes {
        for line in diff.lines() {
            text.push_str(&shown::text(line).to_string());
            text.push('\n');
        }
    }
    text
}

fn failure(error: TrustError) -> Failure {
    match error {
        TrustError::Disk(error) => error.into(),
        other => Failure::new("trust", format!("failed to {other}")),
    }
}
