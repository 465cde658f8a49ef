//! Grants are a person's: called inside an agent's session a verb files a request instead.

use std::path::Path;

use serde_json::json;

use super::context::Context;
use super::failure::Failure;
use super::{Answer, Outcome};
use crate::custody::act::{Act, ActKind};
use crate::custody::asker;
use crate::custody::delegation::{self, Attempt, Change};
use crate::custody::find;
use crate::custody::person::{self, Person};
use crate::custody::{self, Surroundings};
use crate::sys::time;

/// What custody has to know about this machine.
///
/// # Errors
/// Where the settings can't be used.
pub fn surroundings(context: &Context) -> Result<Surroundings, Failure> {
    let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    find::surroundings(&context.home, &user_home, &context.state)
        .map_err(|error| Failure::new("settings", format!("failed to {error}")).at(&error.path, error.line))
}

/// Whether a person asks; where not, why.
#[must_use]
pub fn person(context: &Context) -> Person {
    person::decide(&person::facts(&context.env))
}

/// `None` where a person asks. Else the request is filed, said, and the answer is no.
///
/// `file` is what the verb would write; `command` how a person would run it.
///
/// # Errors
/// Where the request can't be filed either.
pub fn or_request(context: &Context, file: &Path, command: &str) -> Result<Option<Answer>, Failure> {
    let Person::No(evidence) = person(context) else { return Ok(None) };
    request(context, file, command, &evidence).map(Some)
}

/// The words that loci was called with: what a person approves is that, and nothing that is like it.
fn argv(context: &Context) -> Option<Vec<String>> {
    context.argv.iter().map(|word| word.to_str().map(str::to_owned)).collect()
}

fn request(context: &Context, file: &Path, command: &str, evidence: &str) -> Outcome {
    let (asker, _) = asker::here(&context.env, &context.cwd).unwrap_or_default();
    let surroundings = surroundings(context)?;
    let act = Act { kind: ActKind::Write, path: file.to_owned(), follow: false, below: false };
    let ruling = custody::rule(&[act], &asker, &surroundings);
    let tool: Vec<&str> = command.split(' ').take(2).collect();
    let tool = tool.join(" ");
    let attempt = Attempt {
        asker: &asker,
        harness: "loci",
        session: None,
        sub_agent: None,
        tool: &tool,
        change: Change::Verb { argv: argv(context), cwd: context.cwd.clone(), command: command.to_owned() },
        ruling: &ruling,
        reads: Vec::new(),
        at: time::now(),
    };
    let delivery = delegation::deliver(&attempt, &surroundings).into_iter().next();
    let failed =
        |why: &str| Failure::new("grant", format!("only a person may do this ({evidence}), and the request could not be filed: {why}"));
    let filed = delivery.ok_or_else(|| failed("nothing was refused"))?.outcome.map_err(|why| failed(&why))?;
    context.say(&format!("only a person may do this ({evidence}); it was filed as a request"));
    context.print(
        || format!("{}\n", filed.id),
        || json!({ "schema": 1, "done": false, "request": filed.id, "inbox": filed.inbox.to_string_lossy(), "why": evidence }),
    )?;
    Ok(Answer::No)
}
