//! `loci check`: the ruling and its grounds, nothing delivered.

mod shell;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::grant::surroundings;
use crate::cli::near::{self, word};
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::{self, Asker};
use crate::custody::range::{self, RangeError};
use crate::custody::{self, ActRuling, Ruling, Verdict, Who, Why};
use crate::sys::{shown, time};
use crate::text::name::AgentId;

/// Ask whose paths are, and whether a write there or a command would pass
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit code: 0 allowed, or it can't be known; 1 refused; 2 could not be asked.\n\nWith --stdin each line is {\"id\": …, \"command\": \"…\"}, with \"cwd\" and \"env\" where they differ from here; each answer is one line.\n\nExamples:\n  loci check src/billing/tax.rs\n  loci check --diff origin/main..HEAD --as alice     # in CI: whose the commits touch\n  loci check --as alice services/*/README.md --json\n  loci check --as alice --shell 'sed -i s/a/b/ src/billing/*.rs'\n  loci check --as alice --stdin < commands.jsonl"
)]
pub struct Args {
    /// The paths
    #[arg(required_unless_present_any = ["shell", "stdin", "diff"], conflicts_with_all = ["shell", "stdin", "diff"], value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Ask about this command instead: it is read, not run
    #[arg(long, value_name = "COMMAND", conflicts_with = "stdin")]
    shell: Option<String>,
    /// Ask about many commands, one JSON object a line
    #[arg(long)]
    stdin: bool,
    /// The files that these commits touch, of a renamed one both names; a separate worktree excuses nothing
    #[arg(long, value_name = "BASE..HEAD", conflicts_with_all = ["paths", "shell", "stdin"])]
    diff: Option<String>,
    /// The directory that relative paths and commands start from (default: here)
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
/// Where it can't be said who asks.
pub fn run(context: &Context, args: Args) -> Outcome {
    let cwd = args.cwd.as_deref().map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir));
    if let Some(range) = &args.diff {
        return in_range(context, &cwd, range);
    }
    if args.stdin {
        return shell::lines(context, &cwd);
    }
    if let Some(command) = &args.shell {
        return shell::one(context, &cwd, command);
    }
    let paths: Vec<PathBuf> = args.paths.iter().map(|path| cwd.join(path)).collect();
    let asker = asker(context, &cwd, &paths)?;
    let acts: Vec<Act> = paths.into_iter().map(|path| Act { kind: ActKind::Write, path, follow: true, below: false }).collect();
    let ruling = custody::rule(&acts, &asker, &surroundings(context)?);
    context.print(|| words(context, &ruling, &asker), || object(&ruling, &Value::Null))?;
    Ok(if ruling.verdict == Verdict::Refuse { Answer::No } else { Answer::Yes })
}

/// Whose the commits of a range touch.
fn in_range(context: &Context, cwd: &Path, range: &str) -> Outcome {
    let touched = range::touched(cwd, range).map_err(|error| {
        let failure = Failure::new("git", format!("failed to {error}"));
        match error {
            RangeError::NoBase => failure.hint("git fetch --unshallow origin"),
            RangeError::NoCommit(_) => failure.hint("git fetch --all"),
            RangeError::NoRepository(_) => failure.hint("loci check --cwd REPOSITORY --diff origin/main..HEAD --as AGENT"),
            RangeError::Words(_) => failure.hint("loci check --diff origin/main..HEAD --as AGENT"),
            _ => failure,
        }
    })?;
    let asker = asker(context, cwd, &touched.paths)?;
    let act = |path: &PathBuf| Act { kind: ActKind::Write, path: path.clone(), follow: false, below: false };
    let acts: Vec<Act> = touched.paths.iter().map(act).collect();
    let ruling = custody::rule_on_return(&acts, &asker, &surroundings(context)?, time::now());
    context.print(
        || if acts.is_empty() { "the range touches no file\n".to_owned() } else { words(context, &ruling, &asker) },
        || {
            let mut object = object(&ruling, &Value::Null);
            object["range"] = json!({ "base": touched.base, "head": touched.head, "top": touched.top.to_string_lossy() });
            object
        },
    )?;
    Ok(if ruling.verdict == Verdict::Refuse { Answer::No } else { Answer::Yes })
}

/// Who is meant: the agent named, else who asks here.
fn asker(context: &Context, cwd: &Path, paths: &[PathBuf]) -> Result<Asker, Failure> {
    if let Some(id) = &context.flags.asker {
        let named = near::named(context, AgentId::new(id)?, cwd, paths);
        if named.body.is_none() {
            near::say_unknown(context, id);
        }
        return Ok(named);
    }
    let (asker, note) = asker::here(&context.env, cwd)?;
    if let Some(note) = note {
        context.say(&format!("note: {}", note.0));
    }
    Ok(asker)
}

fn words(context: &Context, ruling: &Ruling, asker: &Asker) -> String {
    let rows: Vec<Vec<String>> = ruling
        .acts
        .iter()
        .map(|act| vec![act.verdict.word().to_owned(), context.shown(act.path()), because(context, act, asker)])
        .collect();
    table(&rows)
}

/// The grounds in words.
fn because(context: &Context, act: &ActRuling, asker: &Asker) -> String {
    let file = act.decided_by.as_deref().map(|file| {
        let line = act.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(" ({}{line})", context.shown(file))
    });
    let file = file.unwrap_or_default();
    let owner = act.owner.as_ref().map_or("nobody", |owner| owner.who.name());
    let by = if act.by.is_empty() { String::new() } else { format!(", by {}", shown::text(&act.by)) };
    let way_out = act.way_out.as_deref().map(|way_out| format!("; way out: {way_out}")).unwrap_or_default();
    let file = format!("{file}{by}{way_out}");
    match &act.why {
        Why::CannotKnow if !act.by.is_empty() => format!("can't be known before it runs: {}", shown::text(&act.by)),
        Why::Reads => "reads are free".to_owned(),
        Why::Nobodys => format!("nobody's{file}"),
        Why::Home => format!("{}'s own body{file}", asker.name()),
        Why::Yours => format!("{}'s own{file}", asker.name()),
        Why::Commons(glob) => format!("common: {owner} leaves `{}` to everybody{file}", shown::text(glob)),
        Why::Plumbing => format!("git's own files are nobody's{by}"),
        Why::Worktree => format!("a copy of {owner}'s in a separate worktree{file}"),
        Why::Permitted { id, until } => format!("{owner}'s, permitted until {until} by {}{file}", shown::text(id)),
        Why::Arriving => format!("{owner}'s, and others' work arriving from upstream{file}"),
        Why::Copy => format!("comes along unchanged into a new directory{by}"),
        Why::Owned => format!("{owner}'s{file}"),
        Why::Pinned(pinned) => {
            let by = act.decided_by.as_deref().map(|file| context.shown(file)).unwrap_or_default();
            let line = pinned.line.map(|line| format!(":{line}")).unwrap_or_default();
            let yours = pinned
                .yours
                .as_deref()
                .map_or_else(|| "none is known of you".to_owned(), |yours| format!("yours is {}", context.shown(yours)));
            // Where nobody of that id lives there, no body is put to the owner.
            let help = if act.owner.as_ref().is_some_and(|owner| owner.body.is_some()) {
                "set LOCI_BODY to it, or start in it".to_owned()
            } else {
                let dir = act.owner.as_ref().map(|owner| word(&owner.dir)).unwrap_or_default();
                format!("no {owner} lives there; to mend it: loci own {dir} --as {owner}")
            };
            format!("{owner}'s, and {by}{line} pins the body {}; {yours} ({help})", context.shown(&pinned.body))
        }
        Why::Broken(why) => format!("somebody's, and the owner file can't be used: {}{file}", shown::text(why)),
        Why::Wall(what) => format!("only a person changes it: {}{file}", what.what()),
        Why::Below(dir) => format!("{} below is {owner}'s{file}", context.shown(dir)),
        Why::CannotKnow => "can't be known before it runs".to_owned(),
        Why::Unresolved(why) => format!("can't be resolved: {}", shown::text(why)),
    }
}

/// The object of `--json`.
fn object(ruling: &Ruling, id: &Value) -> Value {
    let acts: Vec<Value> = ruling.acts.iter().map(act_object).collect();
    let mut object = json!({ "schema": 1, "id": id, "verdict": ruling.verdict, "acts": acts });
    if !ruling.notes.is_empty() {
        object["notes"] = ruling.notes.as_slice().into();
    }
    object
}

fn act_object(act: &ActRuling) -> Value {
    let owner = act.owner.as_ref().and_then(|owner| match &owner.who {
        Who::Agent(id) => Some(id.as_str()),
        Who::Human => Some("human"),
        Who::Unclear => None,
    });
    let mut object = json!({
        "act": act.act.kind,
        "path": act.path().to_string_lossy(),
        "owner": owner,
        "verdict": act.verdict,
        "decided_by": act.decided_by.as_ref().map(|file| file.to_string_lossy()),
        "why": act.why.word(),
    });
    if !act.by.is_empty() {
        object["by"] = act.by.as_str().into();
    }
    if let Some(way_out) = &act.way_out {
        object["way_out"] = way_out.as_str().into();
    }
    if let Why::Permitted { id, until } = &act.why {
        object["permit"] = id.as_str().into();
        object["until"] = until.as_str().into();
    }
    object
}
