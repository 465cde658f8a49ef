//! `loci trail`: what a session did, step by step.

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome};
use crate::custody::trail::{self, Grounds, Step};
use crate::sys::shown;

/// Show what a session did, step by step, or why its last refused step was refused
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Steps come from the relay after each tool call (`loci connect`), refused ones from the gate.\n\nExample:\n  loci trail --last"
)]
pub struct Args {
    /// Which session (default: the one that did something last)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only why the last refused step was refused
    #[arg(long)]
    last: bool,
}

/// Runs it.
///
/// # Errors
/// Where the trail can't be read.
pub fn run(context: &Context, args: Args) -> Outcome {
    let found = match &args.session {
        Some(session) => trail::read(&context.state, session)?.map(|trail| (session.clone(), trail)),
        None => match trail::newest(&context.state)? {
            Some(name) => trail::read_named(&context.state, &name)?.map(|trail| (name, trail)),
            None => None,
        },
    };
    let Some((session, trail)) = found else {
        context.print(
            || {
                args.session
                    .as_ref()
                    .map_or_else(|| "no trail yet\n".to_owned(), |session| format!("no trail of {}\n", shown::text(session)))
            },
            || json!({ "schema": 1, "session": args.session, "steps": [] }),
        )?;
        return Ok(Answer::No);
    };
    if trail.skipped > 0 {
        context.say(&format!("note: passed over: {} of the trail, unreadable", shown::count(trail.skipped, "line", "lines")));
    }
    if args.last {
        return last(context, &session, trail.steps.iter().rev().find(|step| !step.refused.is_empty()));
    }
    let steps: Result<Vec<Value>, serde_json::Error> = trail.steps.iter().map(serde_json::to_value).collect();
    let steps = steps.map_err(|error| Failure::new("io", "failed to write the steps as JSON").caused_by(&error))?;
    context.print(
        || table(&trail.steps.iter().map(trail::line).collect::<Vec<_>>()),
        || json!({ "schema": 1, "session": session, "skipped": trail.skipped, "cut": trail.cut, "steps": steps }),
    )?;
    Ok(Answer::Yes)
}

fn last(context: &Context, session: &str, step: Option<&Step>) -> Outcome {
    let Some(step) = step else {
        context.print(
            || format!("nothing was refused in {}\n", shown::text(session)),
            || json!({ "schema": 1, "session": session, "step": null }),
        )?;
        return Ok(Answer::No);
    };
    let value = serde_json::to_value(step).map_err(|error| Failure::new("io", "failed to write the step as JSON").caused_by(&error))?;
    context.print(
        || {
            let mut text = format!("{}  {}  {}  refused\n", shown::text(&step.at), shown::text(&step.agent), shown::text(&step.tool));
            let rows: Vec<Vec<String>> = step.refused.iter().map(|grounds| row(context, grounds)).collect();
            text += &table(&rows);
            for id in &step.filed {
                text += &format!("filed as {}\n", shown::text(id));
            }
            text
        },
        || json!({ "schema": 1, "session": session, "step": value }),
    )?;
    Ok(Answer::Yes)
}

fn row(context: &Context, grounds: &Grounds) -> Vec<String> {
    let decided = grounds.decided_by.as_ref().map(|file| {
        let line = grounds.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(" ({}{line})", context.shown(std::path::Path::new(file)))
    });
    vec![
        context.shown(std::path::Path::new(&grounds.path)),
        format!("{}, {}{}", shown::text(&grounds.owner), shown::text(&grounds.why), decided.unwrap_or_default()),
    ]
}
