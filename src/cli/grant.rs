//! Grants are a person's: called inside an agent's session a verb files a request instead.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::context::Context;
use super::failure::Failure;
use super::{Answer, Outcome, errand};
use crate::custody::act::{Act, ActKind};
use crate::custody::asker::{self, Asker};
use crate::custody::delegation::{self, Attempt, Change, Delivery};
use crate::custody::find;
use crate::custody::inbox::State;
use crate::custody::person::{self, Person};
use crate::custody::ruling::{Verdict, Who, Why};
use crate::custody::{self, ActRuling, Surroundings};
use crate::hooks::connect;
use crate::sys::{shown, time};
use crate::tree::dotdirs::IDENTITY;

/// What custody has to know about this machine.
///
/// # Errors
/// Where the settings can't be used.
pub fn surroundings(context: &Context) -> Result<Surroundings, Failure> {
    let user_home = context.env.user_home().unwrap_or_else(|| context.home.clone());
    let connect::Settings { moved, linked } = connect::settings(&context.env, &context.state);
    find::surroundings(&context.home, &user_home, &context.state)
        .map(|found| Surroundings { hops: context.env.hops(), moved, linked, ..found })
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

/// Asks the judge about everything that a verb would write, before it writes. Every verb that changes
/// files comes by here or by [`or_request`], so that nobody gets past the gate by calling loci itself.
///
/// `None`: go on; a person may. What is in the wall is filed as a request (a dry run files none), what
/// is somebody's is refused; both answer no. `command` is how a person would run it.
///
/// # Errors
/// Where it can't be said who asks, or the request can't be filed.
pub fn unless_refused(context: &Context, acts: &[Act], command: &str, dry_run: bool) -> Result<Option<Answer>, Failure> {
    let Person::No(evidence) = person(context) else { return Ok(None) };
    let ruling = ruled(context, acts)?;
    // What can't be judged is not written: here every path is a real one, so nothing is lost by it.
    let Some(stopped) = ruling.acts.iter().find(|act| act.verdict != Verdict::Allow) else { return Ok(None) };
    if matches!(stopped.why, Why::Wall(_)) && dry_run {
        context.say(&format!("note: only a person may do this ({evidence}); it would be filed as a request"));
        return Ok(None);
    }
    if matches!(stopped.why, Why::Wall(_)) {
        return request(context, stopped.path(), command, &evidence).map(Some);
    }
    let handed = if dry_run { Vec::new() } else { hand_over(context, &ruling, command)? };
    refused_and(context, stopped, &handed).map(Some)
}

/// What a verb would have done in somebody's directory becomes work for the owner, as the gate's refusals do.
fn hand_over(context: &Context, ruling: &custody::Ruling, command: &str) -> Result<Vec<Delivery>, Failure> {
    let (asker, _) = asker::here(&context.env, &context.cwd)?;
    let tool = tool_of(command);
    // What is the human's is asked for as a request, once the rest of it may be done.
    let theirs = |act: &&ActRuling| act.owner.as_ref().is_some_and(|owner| matches!(owner.who, Who::Agent(_)));
    let acts = ruling.refused().filter(theirs).cloned().collect();
    let ruling = &custody::Ruling { acts, ..ruling.clone() };
    let attempt = attempt(&asker, &tool, Change::Command(command.to_owned()), ruling);
    Ok(delegation::deliver(&attempt, &surroundings(context)?))
}

/// What a verb of loci was to do, as it is filed.
fn attempt<'a>(asker: &'a Asker, tool: &'a str, change: Change, ruling: &'a custody::Ruling) -> Attempt<'a> {
    Attempt { asker, harness: "loci", session: None, sub_agent: None, tool, change, ruling, reads: Vec::new(), at: time::now() }
}

/// Whether the judge lets whoever asks here do it: asked once more under the lock of a change, about what
/// stands there then. Nothing is said and nothing is filed.
#[must_use]
pub fn passes(context: &Context, acts: &[Act]) -> bool {
    person(context) == Person::Yes || ruled(context, acts).is_ok_and(|ruling| ruling.acts.iter().all(|act| act.verdict == Verdict::Allow))
}

/// What the judge says to whoever asks here.
///
/// # Errors
/// Where it can't be said who asks, or the settings can't be used.
pub fn ruled(context: &Context, acts: &[Act]) -> Result<custody::Ruling, Failure> {
    let (asker, _) = asker::here(&context.env, &context.cwd)?;
    Ok(custody::rule(acts, &asker, &surroundings(context)?))
}

/// Says that an act was refused, and whose the path is.
///
/// # Errors
/// Where it can't be printed.
pub fn refused(context: &Context, stopped: &ActRuling) -> Outcome {
    refused_and(context, stopped, &[])
}

/// As [`refused`], with what became of it.
fn refused_and(context: &Context, stopped: &ActRuling, handed: &[Delivery]) -> Outcome {
    let path = context.shown(stopped.path());
    let owner = stopped.owner.as_ref().map_or("somebody", |owner| owner.who.name());
    let by = stopped.decided_by.as_deref().map(|file| format!(" ({})", context.shown(file))).unwrap_or_default();
    match &stopped.why {
        Why::Unresolved(why) => context.say(&format!("refused: whose {path} is can't be said: {why}")),
        _ => context.say(&format!("refused: {path} is {owner}'s{by}")),
    }
    for delivery in handed {
        let to = delivery.owner.who.name();
        context.say(&match &delivery.outcome {
            Ok(filed) => format!("handed over to {to} as {}; add why with: loci handover {} TEXT", filed.id, filed.id),
            Err(why) => format!("it could not be handed over to {to}: {why}"),
        });
    }
    let filed: Vec<&str> = handed.iter().filter_map(|delivery| Some(delivery.outcome.as_ref().ok()?.id.as_str())).collect();
    context.print(String::new, || {
        json!({
            "schema": 1, "done": false, "refused": stopped.path().to_string_lossy(), "owner": owner,
            "decided_by": stopped.decided_by.as_deref().map(Path::to_string_lossy), "why": stopped.why.word(), "filed": filed,
        })
    })?;
    Ok(Answer::No)
}

/// The acts of a change of a level: each path with all below it, taken away from or brought in under
/// that name. That the level is changed at all counts too, since a change settles what an earlier one
/// left there.
pub fn changes<'a>(level: &Path, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<Act> {
    let of_level = Act { kind: ActKind::Write, path: level.join(IDENTITY).join("loadout"), follow: true, below: false };
    let act = |path: &PathBuf| Act { kind: ActKind::Rename, path: path.clone(), follow: false, below: true };
    std::iter::once(of_level).chain(paths.into_iter().map(act)).collect()
}

fn request(context: &Context, file: &Path, command: &str, evidence: &str) -> Outcome {
    let (asker, _) = asker::here(&context.env, &context.cwd).unwrap_or_default();
    let surroundings = surroundings(context)?;
    let act = Act { kind: ActKind::Write, path: file.to_owned(), follow: false, below: false };
    let ruling = custody::rule(&[act], &asker, &surroundings);
    let argv = argv(context);
    if let Err(why) = errand::askable(argv.as_deref(), &context.cwd) {
        return unaskable(context, command, evidence, &why);
    }
    let tool = tool_of(command);
    let change = Change::Verb { argv, cwd: context.cwd.clone(), command: command.to_owned() };
    let attempt = attempt(&asker, &tool, change, &ruling);
    let delivery = delegation::deliver(&attempt, &surroundings).into_iter().next();
    let failed =
        |why: &str| Failure::new("grant", format!("only a person may do this ({evidence}), and the request could not be filed: {why}"));
    let filed = delivery.ok_or_else(|| failed("nothing was refused"))?.outcome.map_err(|why| failed(&why))?;
    let how = match filed.state {
        _ if filed.counted => "a hundred requests of this hour are kept already, and it was only counted: tell your user".to_owned(),
        State::Declined => {
            "the same request was declined within this hour, and is not filed again: read the answer in your inbox".to_owned()
        }
        _ if filed.again => "the same request is filed already, and waits".to_owned(),
        _ => "it was filed as a request".to_owned(),
    };
    context.say(&format!("only a person may do this ({evidence}); {how}"));
    context.print(
        || format!("{}\n", filed.id),
        || {
            json!({
                "schema": 1, "done": false, "request": filed.id, "inbox": filed.inbox.to_string_lossy(), "why": evidence,
                "again": filed.again, "counted": filed.counted, "state": filed.state.word(),
            })
        },
    )?;
    Ok(Answer::No)
}

/// A call that nobody could approve as it is becomes no request: the agent is told at once, with what its user would
/// run.
fn unaskable(context: &Context, command: &str, evidence: &str, why: &str) -> Outcome {
    context.say(&format!("refused: only a person may do this ({evidence}), and it can't be asked for: {}", shown::text(why)));
    context.say(&format!("hint: tell your user to run it: {}", shown::text(command)));
    context.print(String::new, || json!({ "schema": 1, "done": false, "request": null, "why": why, "command": command }))?;
    Ok(Answer::No)
}

/// The verb with its first word, as messages name what was tried.
fn tool_of(command: &str) -> String {
    command.split(' ').take(2).collect::<Vec<_>>().join(" ")
}
