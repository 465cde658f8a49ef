//! `loci requests`, `approve`, `deny`: what agents ask of the human, and the human's answers.

mod look;

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use look::{Todo, look};

use crate::cli::context::Context;
use crate::cli::errand::{called, carry_out};
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::answer::{self, Answered};
use crate::custody::inbox::{self, State};
use crate::custody::maildir::Mailbox;
use crate::custody::person::Person;
use crate::custody::requests::{self, Request};
use crate::sys::journal::{self, Held};
use crate::sys::{shown, term, time};

/// List what agents ask of you
#[derive(Debug, ClapArgs)]
#[command(after_help = "Each refused write into what is yours, and each verb that only a person carries out.\n\nExample:\n  loci requests")]
pub struct RequestsArgs {
    /// Also those that are answered
    #[arg(long)]
    all: bool,
}

/// Do what an agent asked for, with the hash that was shown
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Shows the patch, or the verb and what it would do, and a hash of all of it. At a terminal it asks;\nelsewhere it does nothing without --hash. A patch is refused where its file changed since. A shell\ncommand is never run.\n\nExamples:\n  loci approve 20261130T1015\n  loci approve 20261130T1015 --hash 3f9c…"
)]
pub struct ApproveArgs {
    /// The id of the request, or the beginning of it
    id: String,
    /// The hash that was shown
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Only show it
    #[arg(long)]
    dry_run: bool,
}

/// Answer a request with no
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  loci deny 20261130T1015 --why 'Hooks stay as they are'")]
pub struct DenyArgs {
    /// The id of the request, or the beginning of it
    id: String,
    /// Why, and what would be fine instead
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// Lists the requests.
///
/// # Errors
/// Where the inbox can't be read.
pub fn list(context: &Context, args: RequestsArgs) -> Outcome {
    let found = requests::read(&Mailbox::of_human(&context.home), args.all)?;
    for note in &found.notes {
        context.say(&format!("note: {note}"));
    }
    context.print(
        || {
            let rows: Vec<Vec<String>> = found.requests.iter().map(|request| row(context, request)).collect();
            let more = if found.unkept > 0 { format!("and {} more, which were only counted\n", found.unkept) } else { String::new() };
            if rows.is_empty() && more.is_empty() { "nobody asks for anything\n".to_owned() } else { table(&rows) + &more }
        },
        || json!({ "schema": 1, "requests": found.requests.iter().map(object).collect::<Vec<_>>(), "unkept": found.unkept }),
    )?;
    Ok(if found.requests.is_empty() && found.unkept == 0 { Answer::No } else { Answer::Yes })
}

fn row(context: &Context, request: &Request) -> Vec<String> {
    let message = &request.message;
    let argv = message.list("argv");
    let about = if argv.is_empty() {
        let targets: Vec<String> = message.list("targets").iter().map(|target| context.shown(Path::new(target))).collect();
        format!("{} {}", message.text("change").unwrap_or("?"), targets.join(", "))
    } else {
        called(&argv)
    };
    let from = shown::text(message.text("from").unwrap_or("?")).to_string();
    vec![message.id.clone(), message.standing.state.word().to_owned(), from, shown::text(&about).to_string()]
}

fn object(request: &Request) -> Value {
    let message = &request.message;
    let argv = message.list("argv");
    json!({
        "id": message.id,
        "from": message.text("from"),
        "at": message.text("at"),
        "state": message.standing.state.word(),
        "harness": message.text("harness"),
        "session": message.text("session"),
        "tool": message.text("tool"),
        "change": message.text("change"),
        "targets": message.list("targets"),
        "argv": if argv.is_empty() { Value::Null } else { json!(argv) },
        "cwd": message.text("cwd"),
        "path": message.path.to_string_lossy(),
    })
}

/// `None` where a person asks; else the answer is no, and nothing is filed: to ask that one's own
/// request be granted is no request.
fn unless_person(context: &Context, what: &str) -> Option<Answer> {
    let Person::No(evidence) = grant::person(context) else { return None };
    context.say(&format!("only a person {what} requests ({evidence}); nothing was done, and nothing was filed"));
    Some(Answer::No)
}

/// The request that an id names.
fn one(mailbox: &Mailbox, id: &str) -> Result<Request, Failure> {
    let found = requests::read(mailbox, true)?;
    let fits = |request: &&Request| !id.is_empty() && (request.message.id.starts_with(id) || request.message.key.starts_with(id));
    let mut fitting: Vec<&Request> = found.requests.iter().filter(fits).collect();
    if fitting.len() > 1 {
        let exact = |request: &&&Request| request.message.id == id;
        if let Some(exact) = fitting.iter().find(exact).copied() {
            fitting = vec![exact];
        } else if fitting.iter().filter(|request| !request.message.standing.state.is_closed()).count() == 1 {
            fitting.retain(|request| !request.message.standing.state.is_closed());
        }
    }
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            Err(Failure::new("message", format!("failed to find a request that begins with `{}`", shown::text(id))).hint("loci requests"))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|request| request.message.id.as_str()).collect();
            Err(Failure::new("message", format!("failed to tell which request `{}` is: {}", shown::text(id), ids.join(", ")))
                .hint("loci requests"))
        }
    }
}

/// Shows a request, and carries it out with the hash that was shown.
///
/// # Errors
/// Where it can't be carried out; then it stays open.
pub fn approve(context: &Context, args: ApproveArgs) -> Outcome {
    if let Some(answer) = unless_person(context, "approves") {
        return Ok(answer);
    }
    let mailbox = Mailbox::of_human(&context.home);
    let request = one(&mailbox, &args.id)?;
    if closed(context, &request) {
        if !args.dry_run {
            // A run that was killed, or a disk that refused, may have left the end of it undone.
            let _held = hold(context, &request)?;
            requests::close_digests(&mailbox, time::now())?;
        }
        return Ok(Answer::No);
    }
    if let (Some(hash), false) = (&args.hash, args.dry_run) {
        return perform(context, &mailbox, &request, hash);
    }
    let shown = look(context, &mailbox, &request)?;
    let cannot = if let Todo::Cannot(why) = &shown.todo { Some(why.clone()) } else { None };
    let ask = cannot.is_none() && !args.dry_run && !context.flags.json && context.asks();
    if ask {
        context.say(shown.text.trim_end());
        let asked = term::ask(&format!("approve {} ({})? [y/N] ", request.message.id, shown.hash));
        let said = asked.map_err(|error| Failure::new("io", "failed to ask").caused_by(&error))?;
        if said.is_some_and(|said| ["y", "yes"].contains(&said.to_lowercase().as_str())) {
            return perform(context, &mailbox, &request, &shown.hash);
        }
        context.say("nothing was done");
        return Ok(Answer::No);
    }
    context.print(
        || shown.text.clone(),
        || json!({ "schema": 1, "id": request.message.id, "done": false, "hash": cannot.is_none().then_some(&shown.hash), "shown": shown.text, "cannot": cannot }),
    )?;
    match &cannot {
        Some(why) => {
            context.say(&format!("it can't be approved: {}", shown::text(why)));
            context.say(&format!("hint: loci deny {} --why TEXT", request.message.id));
        }
        None if !args.dry_run => {
            context.say(&format!("nothing was done; to do it: loci approve {} --hash {}", request.message.id, shown.hash))
        }
        None => context.say(&format!("hash: {}", shown.hash)),
    }
    Ok(if args.dry_run && cannot.is_none() { Answer::Yes } else { Answer::No })
}

fn closed(context: &Context, request: &Request) -> bool {
    let state = request.message.standing.state;
    if state.is_closed() {
        context.say(&format!("{} is {} already", request.message.id, state.word()));
    }
    state.is_closed()
}

/// One at a time for each request; what a run that was killed had begun is settled first.
fn hold(context: &Context, request: &Request) -> Result<Held, Failure> {
    let (held, recovered) = journal::begin(&context.state, &format!("request-{}", request.message.key), "loci approve")?;
    if let Some(recovered) = recovered {
        context.say(&format!("note: {recovered}"));
    }
    Ok(held)
}

fn perform(context: &Context, mailbox: &Mailbox, request: &Request, hash: &str) -> Outcome {
    let held = hold(context, request)?;
    // Whoever had the lock may have answered it.
    let request = one(mailbox, &request.message.id)?;
    if closed(context, &request) {
        requests::close_digests(mailbox, time::now())?;
        return Ok(Answer::No);
    }
    let shown = look(context, mailbox, &request)?;
    // Approved before, and that run was killed when all was done but the answer.
    let begun = request.approved.iter().any(|one| one == hash) && matches!(shown.todo, Todo::There);
    if shown.hash != hash && !begun {
        context.print(
            || shown.text.clone(),
            || json!({ "schema": 1, "id": request.message.id, "done": false, "hash": shown.hash, "shown": shown.text }),
        )?;
        context.say("nothing was done: what would be done is not what that hash stands for");
        context.say(&format!("hint: loci approve {}", request.message.id));
        return Ok(Answer::No);
    }
    if let Todo::Cannot(why) = &shown.todo {
        context.say(&format!("it can't be approved: {}", shown::text(why)));
        return Ok(Answer::No);
    }
    let mut record = inbox::record(time::now(), &request.message.key, "approved", "human");
    record["held"] = request.name.clone().into();
    record["hash"] = hash.into();
    mailbox.log(&record)?;
    // The same words whether all of it was done now or by a run that was killed: one answer, not two.
    let argv = request.message.list("argv");
    let text = if argv.is_empty() {
        "Approved: your change stands in the file.".to_owned()
    } else {
        format!("Approved: `{}` is carried out.", called(&argv))
    };
    let mut output = String::new();
    match shown.todo {
        Todo::Patch(plan) => held.apply(&plan)?,
        Todo::Verb(argv, cwd) => {
            let (outcome, said) =
                carry_out(context, &argv, &cwd, false).map_err(|why| Failure::new("request", format!("failed to carry it out: {why}")))?;
            if outcome? != Answer::Yes {
                context.say(said.trim_end());
                return Ok(Answer::No);
            }
            output = said;
        }
        Todo::There | Todo::Cannot(_) => {}
    }
    let answer = finish(context, mailbox, &request, State::Done, &text)?;
    if !output.trim().is_empty() {
        context.say(output.trim_end());
    }
    Ok(answer)
}

/// Answers the sender, and tells.
fn finish(context: &Context, mailbox: &Mailbox, request: &Request, state: State, text: &str) -> Outcome {
    let message = &request.message;
    if let Some(first) = answer::begun(message, "human", state, text) {
        answer::answer(mailbox, &context.home, message, &first.by, first.state, &first.text, time::now())?;
        requests::close_digests(mailbox, time::now())?;
        context.say(&format!("{} is {} already: that answer was begun before, and is finished now", message.id, first.state.word()));
        return Ok(Answer::No);
    }
    let answered = answer::answer(mailbox, &context.home, message, "human", state, text, time::now())?;
    requests::close_digests(mailbox, time::now())?;
    said(context, request, state, &answered, false)
}

fn said(context: &Context, request: &Request, state: State, answered: &Answered, dry_run: bool) -> Outcome {
    let id = &request.message.id;
    let word = if state == State::Done { "approved" } else { "denied" };
    context.print(
        || {
            let tail = match answered {
                Answered::To { to, .. } => format!("; {to} {} the answer", if dry_run { "would get" } else { "has" }),
                Answered::Nobody(why) => format!("; no answer could be delivered: {why}"),
            };
            format!("{id} {}{word}{tail}\n", if dry_run { "would be " } else { "" })
        },
        || {
            let reply = match answered {
                Answered::To { id, to, inbox } => json!({ "id": id, "to": to, "inbox": inbox.to_string_lossy() }),
                Answered::Nobody(_) => Value::Null,
            };
            json!({ "schema": 1, "id": id, "state": state.word(), "done": !dry_run, "reply": reply })
        },
    )?;
    Ok(Answer::Yes)
}

/// Answers a request with no.
///
/// # Errors
/// Where the answer can't be delivered.
pub fn deny(context: &Context, args: DenyArgs) -> Outcome {
    if let Some(answer) = unless_person(context, "denies") {
        return Ok(answer);
    }
    if args.why.trim().is_empty() {
        return Err(Failure::new("usage", "failed to deny: the text is empty"));
    }
    let mailbox = Mailbox::of_human(&context.home);
    let request = one(&mailbox, &args.id)?;
    if args.dry_run {
        if closed(context, &request) {
            return Ok(Answer::No);
        }
        return said(context, &request, State::Declined, &answer::where_to(&request.message, &context.home), true);
    }
    let _held = hold(context, &request)?;
    let request = one(&mailbox, &request.message.id)?;
    if closed(context, &request) {
        requests::close_digests(&mailbox, time::now())?;
        return Ok(Answer::No);
    }
    finish(context, &mailbox, &request, State::Declined, &args.why)
}
