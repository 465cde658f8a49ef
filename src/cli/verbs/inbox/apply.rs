//! `loci inbox apply`: the change of a message, brought in by its owner or a person.

use serde_json::json;

use super::{Mail, author, held, one, prune};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::custody::apply::{self, Application};
use crate::custody::asker::Asker;
use crate::custody::changes::{self, Unusable};
use crate::custody::inbox::{self, Message};
use crate::custody::maildir::Mailbox;
use crate::custody::{find, letter};
use crate::sys::journal::{self, Held};
use crate::sys::{shown, time};
use crate::text::digest;

pub(super) fn run(context: &Context, mail: &Mail, id: &str, dry_run: bool) -> Outcome {
    let (mailbox, mut message) = one(context, mail, id)?;
    let Some(by) = author(context, mail)? else { return Ok(Answer::No) };
    let _lock = held(&mailbox, &mut message, dry_run)?;
    let standing = &message.standing;
    if standing.state.is_closed() || standing.applied {
        if !dry_run {
            let _held = begin(context, &mailbox, &message.id)?;
            inbox::settle(&mailbox)?;
        }
        context.say(&format!("{} is {} already", message.id, if standing.applied { "applied" } else { standing.state.word() }));
        return Ok(Answer::No);
    }
    let Some(agent) = mail.agent.clone().filter(|_| message.text("kind") == Some("delegation")) else {
        context.say(&format!("{} is no delegation to an agent: there is nothing to apply", message.id));
        return Ok(Answer::No);
    };
    let body = Some(mailbox.place().to_owned()).filter(|place| find::lives(&agent, place));
    let owner = Asker { agent: Some(agent), body };
    let files = match changes::read(&mailbox, &message.key, message.text("applies")) {
        Ok(files) => files,
        Err(Unusable::Mail(error)) => return Err(error.into()),
        Err(error) => {
            let why = if matches!(error, Unusable::None) { carries_none(&message) } else { format!("failed to {error}") };
            return Err(Failure::new("message", why).hint(format!("loci inbox show {}", message.id)));
        }
    };
    let surroundings = grant::surroundings(context)?;
    let targets = message.list("targets");
    let begun = begun(&mailbox, &message.key)?;
    if dry_run {
        let worked = apply::work_out(&files, &targets, &begun, &owner, &surroundings)?;
        return said(context, &message, &worked, true);
    }
    let held = begin(context, &mailbox, &message.id)?;
    let worked = apply::work_out(&files, &targets, &begun, &owner, &surroundings)?;
    if !worked.conflicts.is_empty() {
        return said(context, &message, &worked, false);
    }
    if !worked.plan.is_empty() {
        let results = worked.results();
        if !results.iter().all(|result| begun.contains(result)) {
            let mut record = inbox::record(time::now(), &message.key, "applying", &by);
            record["results"] = json!(results);
            mailbox.log(&record)?;
        }
        held.apply(&worked.plan)?;
    }
    let mut record = inbox::record(time::now(), &message.key, "applied", &by);
    record["files"] = worked.files.iter().map(|(path, how)| json!([shown::path(path).to_string(), how.word()])).collect();
    mailbox.log(&record)?;
    inbox::settle(&mailbox)?;
    prune(context, &mailbox)?;
    said(context, &message, &worked, false)
}

/// One at a time for each inbox; what a run that was killed had begun is settled first.
fn begin(context: &Context, mailbox: &Mailbox, id: &str) -> Result<Held, Failure> {
    let (held, recovered) = journal::begin(&context.state, &digest::key("apply", mailbox.dir()), &format!("loci inbox apply {id}"))?;
    if let Some(recovered) = recovered {
        context.say(&format!("note: {recovered}"));
    }
    Ok(held)
}

/// Why a message has no change that could be applied, and what to do about it.
fn carries_none(message: &Message) -> String {
    let why = match message.text("change") {
        _ if message.header.value("masked").is_some() => {
            "places in it look like secrets and are masked: make the change by hand".to_owned()
        }
        Some("command") => "it carries a command, which loci never runs: look at it, and make the change your own way".to_owned(),
        Some("none") | None => "it carries an idea and no change: make it your own way".to_owned(),
        Some("patch") => "its change is larger than 4 MiB, or did not fit the files in the first place: make it by hand".to_owned(),
        Some(other) => format!("what it carries ({}) is not known file by file: make the change by hand", shown::text(other)),
    };
    format!("failed to apply {}: {why}", message.id)
}

/// The results that an earlier try has noted before it was cut off.
fn begun(mailbox: &Mailbox, key: &str) -> Result<Vec<(String, String)>, Failure> {
    let (records, _) = mailbox.records()?;
    let ours = records.into_iter().filter(|record| record["key"] == key && record["event"] == "applying");
    Ok(ours.filter_map(|mut record| serde_json::from_value::<Vec<(String, String)>>(record["results"].take()).ok()).flatten().collect())
}

fn said(context: &Context, message: &Message, worked: &Application, dry_run: bool) -> Outcome {
    let fits = worked.conflicts.is_empty();
    context.print(
        || {
            let would = if dry_run { "would be " } else { "" };
            if fits {
                let mut text = table(&worked.files.iter().map(|(path, how)| vec![how.word().to_owned(), context.shown(path)]).collect::<Vec<_>>());
                text += &format!("{} {would}applied; answer it with: loci inbox done {} --reply TEXT\n", message.id, message.id);
                text
            } else {
                let mut text = table(&worked.conflicts.iter().map(|(path, why)| vec![context.shown(path), shown::text(why).to_string()]).collect::<Vec<_>>());
                text += &format!("{} does not fit; nothing was changed (its change: loci inbox show {})\n", message.id, message.id);
                text
            }
        },
        || {
            json!({
                "schema": 1, "id": message.id, "key": letter::key(&message.id), "done": fits && !dry_run,
                "files": worked.files.iter().filter(|_| fits).map(|(path, how)| json!({ "path": path.to_string_lossy(), "how": how.word() })).collect::<Vec<_>>(),
                "conflicts": worked.conflicts.iter().map(|(path, why)| json!({ "path": path.to_string_lossy(), "why": why })).collect::<Vec<_>>(),
            })
        },
    )?;
    Ok(if fits { Answer::Yes } else { Answer::No })
}
