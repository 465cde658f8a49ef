//! `loci man`: the manual, one page a verb.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use serde_json::json;

use crate::body::home;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::word;
use crate::cli::{Answer, Outcome, grant, help};
use crate::custody::act::{Act, ActKind};
use crate::sys::disk;
use crate::sys::plan::{Plan, Step};

/// What `loci man` takes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --dir the page is printed as it stands in its file.\n\nExamples:\n  loci man run | man -l -\n  loci man --dir ~/.local/share/man/man1"
)]
pub struct Args {
    /// The verb whose page is wanted (default: that of loci itself)
    verb: Vec<String>,
    /// Write every page into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    dir: Option<PathBuf>,
    /// Print which pages would be written, and write none
    #[arg(long, requires = "dir")]
    dry_run: bool,
}

/// Runs the verb.
///
/// # Errors
/// Where there is no such verb, or a page can't be written; then those before it are taken back.
pub fn run(context: &Context, args: Args) -> Outcome {
    match &args.dir {
        Some(dir) => write(context, &context.absolute(dir), args.dry_run),
        None => {
            let page = page(help::find(&mut help::built(), &args.verb)?)?;
            context.print(|| page.clone(), || json!({ "schema": 1, "page": page }))?;
            Ok(Answer::Yes)
        }
    }
}

/// Writes all pages: those that stand there word for word are left.
fn write(context: &Context, dir: &Path, dry_run: bool) -> Outcome {
    let mut pages = Vec::new();
    all(&help::built(), &mut pages)?;
    let mut plan = Plan::default();
    home::missing_dirs(dir, &mut plan)?;
    for (name, text) in pages {
        let (path, data) = (dir.join(name), text.into_bytes());
        let was = disk::read_if_there(&path)?;
        if was.as_ref() != Some(&data) {
            plan.steps.push(Step::Write { path, data, mode: None, was });
        }
    }
    let acts: Vec<Act> = plan.steps.iter().map(|step| create(step.path())).collect();
    if let Some(answer) = grant::unless_refused(context, &acts, &format!("loci man --dir {}", word(dir)), dry_run)? {
        return Ok(answer);
    }
    if dry_run {
        plan.check()?
    } else {
        // What a call that was killed has left.
        disk::sweep_temps(dir)?;
        plan.apply()?
    }
    let written: Vec<&Path> = plan.steps.iter().map(Step::path).filter(|path| !dir.starts_with(path)).collect();
    let words = || {
        let would = if dry_run { "would write" } else { "wrote" };
        let line = |path: &&Path| format!("{would} {}\n", context.shown(path));
        if written.is_empty() { "every page is there as it should be\n".to_owned() } else { written.iter().map(line).collect() }
    };
    let object =
        || json!({ "schema": 1, "dry_run": dry_run, "written": written.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>() });
    context.print(words, object)?;
    Ok(Answer::Yes)
}

fn create(path: &Path) -> Act {
    Act { kind: ActKind::Create, path: path.to_owned(), follow: true, below: false }
}

/// The pages of a command and of all below it, with the names of their files.
fn all(command: &Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    pages.push((format!("{}.1", command.get_display_name().unwrap_or_else(|| command.get_name())), page(command)?));
    command.get_subcommands().try_for_each(|below| all(below, pages))
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let source = concat!("loci ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone())
        .source(source)
        .manual("loci")
        .render(&mut page)
        .map_err(|error| Failure::new("io", "failed to make the page").caused_by(&error))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
