//! `loci ledger`: what is stuck.

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::clock;
use crate::cli::context::Context;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::clock::ledger::{self, Entry};
use crate::clock::record::Outcome as Came;
use crate::clock::runs::Run;
use crate::clock::store::Store;
use crate::sys::{disk, shown, time};

/// Show what is stuck now
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "A job is stuck when a run of it did not leave what it declares. A later success resolves it.\n\nExit 1 where something is stuck.\n\nExamples:\n  loci ledger\n  loci ledger --all --json"
)]
pub struct Args {
    /// Every line there ever was, oldest first
    #[arg(long)]
    all: bool,
}

/// How much of the ledger is listed with `--all`.
const MAX_BYTES: u64 = 64 << 20;

/// Shows it.
///
/// # Errors
/// Where the root or its ledger can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    let root = clock::root(context, None)?;
    let fold = ledger::read(&root.dir)?;
    if fold.torn > 0 {
        context.say(&format!("note: {} line(s) of the ledger can't be read, and are passed over", fold.torn));
    }
    let store = Store::folder(&root.state, &root.dir);
    // A line that no run of this machine stands behind may have come with the folder.
    let attested = |entry: &Entry| entry.run.as_ref().is_none_or(|run| is_plain(run) && Run::read(&store.join("runs").join(run)).is_some());
    let entries: Vec<Entry> = if args.all { history(&root.dir)? } else { fold.open.values().map(|block| block.entry.clone()).collect() };
    context.print(
        || {
            let row = |entry: &Entry| {
                let times = fold.open.get(&entry.job).filter(|block| block.entry.block == entry.block).map_or(1, |block| block.times);
                let mut why: Vec<String> = entry.missing.iter().map(ToString::to_string).collect();
                why.extend(entry.left_running.iter().map(|one| format!("left running: {}", shown::text(one))));
                let word = entry.cause.map_or_else(|| format!("{:?}", entry.event).to_lowercase(), |cause| Came::word(cause).to_owned());
                let word = if attested(entry) { word } else { format!("{word} (unattested)") };
                let times = if args.all { String::new() } else { format!("{times}x") };
                vec![shown::text(&entry.job).to_string(), time::to_second(entry.at), times, word, why.join("; ")]
            };
            let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
            if rows.is_empty() { "nothing is stuck\n".to_owned() } else { table(&rows) }
        },
        || {
            let object = |entry: &Entry| {
                let mut object = json!(entry);
                if let Some(fields) = object.as_object_mut() {
                    fields.insert("attested".to_owned(), attested(entry).into());
                    if let Some(block) = fold.open.get(&entry.job).filter(|block| !args.all && block.entry.block == entry.block) {
                        fields.insert("times".to_owned(), block.times.into());
                        fields.insert("since".to_owned(), block.since.to_string().into());
                    }
                }
                object
            };
            let list: Vec<Value> = entries.iter().map(object).collect();
            json!({ "schema": 1, "root": root.dir.to_string_lossy(), "stuck": fold.open.len(), "entries": list, "torn": fold.torn })
        },
    )?;
    Ok(if fold.open.is_empty() { Answer::Yes } else { Answer::No })
}

/// Whether the id of a run is one name: the ledger may have come from anywhere.
fn is_plain(run: &str) -> bool {
    !run.contains('/') && !run.starts_with('.') && !run.is_empty()
}

fn history(root: &std::path::Path) -> Result<Vec<Entry>, crate::sys::disk::PathError> {
    let path = ledger::file(root);
    if disk::look(&path)?.is_none() {
        return Ok(Vec::new());
    }
    let (data, _) = disk::read_end(&path, MAX_BYTES)?;
    Ok(data.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}
