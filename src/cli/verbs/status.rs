//! `loci status`: what needs you here, each line with the command that deals with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::{clock, connect, jobs};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, grant};
use crate::clock::engine::{Root, Why};
use crate::clock::trust::Trust;
use crate::clock::{daemon, ledger};
use crate::custody::asker::{self, Asker};
use crate::custody::inbox::{self, State};
use crate::custody::maildir::Mailbox;
use crate::custody::person::Person;
use crate::custody::{find, requests};
use crate::hooks::connect::Reach;
use crate::hooks::connect::check::Standing;
use crate::sys::time::{self, Timestamp};
use crate::sys::{disk, shown};
use crate::text::name::{AgentId, HUMAN};
use crate::tree::card;

/// Say what needs you here: mail, requests, what is stuck, gates that are silent
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "A person is told of all mail in and around here, an agent of its own. Exit 1 where something needs you.\n\nExamples:\n  loci status\n  loci status --json\n  loci status --at agents/billing"
)]
pub struct Args {}

/// Something that waits for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    /// `mail`, `request`, `stuck`, `job`, `clock` or `gate`.
    kind: &'static str,
    /// Whose mail, which job, which harness.
    about: String,
    /// How many of them.
    count: u64,
    /// What is the matter.
    what: String,
    /// The inbox, the root, the settings.
    path: PathBuf,
    /// What deals with it.
    command: String,
}

/// Runs it.
///
/// # Errors
/// Where it can't be said who asks, or there is no such directory.
pub fn run(context: &Context, _: Args) -> Outcome {
    let asked = context.flags.at.as_ref().map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir));
    if !disk::is_dir(&asked) {
        return Err(Failure::new("path", format!("failed to look at {}: it is no directory", shown::path(&asked))).at(&asked, None));
    }
    let dir = disk::canonical(&asked)?;
    let mut notes = Vec::new();
    let asker = asker(context, &dir, &mut notes)?;
    let home = disk::canonical(&context.home).unwrap_or_else(|_| context.home.clone());
    let top = near::top(context, &dir);
    // The whole home is not looked through in passing.
    let places = if home.starts_with(&top) { Vec::new() } else { near::places(context, &dir) };
    let root = clock::root_around(context, &dir)?;

    let mut needs = mail(context, &asker, &places, &mut notes);
    let here = root.as_ref().map(|root| root.dir.clone());
    let mut roots: Vec<Root> = root.into_iter().collect();
    if asker.agent.is_none() {
        needs.extend(asked_for(&context.home, &mut notes));
        let enrolled = clock::roots(context, &[])?;
        roots.extend(enrolled.into_iter().filter(|one| here.as_ref() != Some(&one.dir)));
    }
    let near = here.clone().filter(|root| context.cwd.starts_with(root));
    for root in roots {
        let dir = root.dir.clone();
        match scheduled(root, near.as_ref() == Some(&dir), time::now()) {
            Ok(found) => needs.extend(found),
            Err(failure) => notes.push(format!("{}: {}", context.shown(&dir), failure.to_string().lines().next().unwrap_or_default())),
        }
    }
    let owned = places.iter().any(|place| card::owner(place).is_some());
    needs.extend(gates(context, (top != home).then_some(top.as_path()), owned));

    for note in &notes {
        context.say(&format!("note: {}", shown::text(note)));
    }
    context.print(
        || {
            let row =
                |need: &Need| [need.kind, &*shown::text(&need.about).to_string(), &need.what, &need.command].map(str::to_owned).to_vec();
            if needs.is_empty() { "nothing needs you\n".to_owned() } else { table(&needs.iter().map(row).collect::<Vec<_>>()) }
        },
        || {
            let list: Vec<Value> = needs.iter().map(object).collect();
            json!({
                "schema": 1, "at": dir.to_string_lossy(), "asker": asker.agent.as_ref().map_or(HUMAN, AgentId::as_str),
                "root": here.as_deref().map(Path::to_string_lossy), "needs": list, "notes": notes,
            })
        },
    )?;
    Ok(if needs.is_empty() { Answer::Yes } else { Answer::No })
}

fn object(need: &Need) -> Value {
    json!({
        "kind": need.kind, "about": need.about, "count": need.count, "what": need.what, "path": need.path.to_string_lossy(),
        "command": need.command,
    })
}

/// Who is told: the agent that is named, else whoever acts here. A person who stands in a body is a person all the same.
fn asker(context: &Context, dir: &Path, notes: &mut Vec<String>) -> Result<Asker, Failure> {
    if let Some(named) = context.flags.asker.as_deref() {
        return if named == HUMAN { Ok(Asker::default()) } else { Ok(near::named(context, AgentId::new(named)?, dir, &[])) };
    }
    if grant::person(context) == Person::Yes {
        return Ok(Asker::default());
    }
    let (asker, note) = asker::here(&context.env, dir)?;
    notes.extend(note.map(|note| note.0));
    Ok(asker)
}

/// The inboxes in and around here that hold something open; of an agent only its own.
fn mail(context: &Context, asker: &Asker, places: &[PathBuf], notes: &mut Vec<String>) -> Vec<Need> {
    let mut needs = Vec::new();
    if asker.agent.is_none() {
        needs.extend(letters(&context.home, notes));
    }
    let mut dirs: Vec<&PathBuf> = places.iter().chain(&asker.body).collect();
    dirs.sort_unstable();
    dirs.dedup();
    let mut counts: BTreeMap<String, (u64, u64, PathBuf)> = BTreeMap::new();
    for dir in dirs {
        let mailbox = Mailbox::of(dir);
        if !mailbox.exists() {
            continue;
        }
        let lives = find::identity(dir).and_then(Result::ok).map(|card| card.id);
        let Some(whose) = lives.or_else(|| Some(card::owner(dir)?.ok()?.owner.value)) else { continue };
        if asker.agent.as_ref().is_some_and(|agent| *agent != whose) {
            continue;
        }
        match inbox::states(&mailbox) {
            Ok((states, odd)) => {
                notes.extend(odd);
                let count = |state: State| states.iter().filter(|one| **one == state).count() as u64;
                let entry = counts.entry(whose.to_string()).or_insert_with(|| (0, 0, mailbox.dir().to_owned()));
                *entry = (entry.0 + count(State::New), entry.1 + count(State::Taken), std::mem::take(&mut entry.2));
            }
            Err(error) => notes.push(format!("failed to {error}")),
        }
    }
    let open = counts.into_iter().filter(|(_, (new, taken, _))| new + taken > 0);
    needs.extend(open.map(|(agent, (new, taken, path))| {
        let own = asker.agent.as_ref().is_some_and(|own| own.as_str() == agent);
        let command = if own { "loci inbox --open".to_owned() } else { format!("loci inbox {agent} --open") };
        Need { kind: "mail", about: agent, count: new + taken, what: mail_words(new, taken), path, command }
    }));
    needs
}

fn mail_words(new: u64, taken: u64) -> String {
    let parts = [(new, "new"), (taken, "taken")].into_iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// What agents wrote to the human; the digests of requests are not counted, since each request is.
fn letters(home: &Path, notes: &mut Vec<String>) -> Option<Need> {
    let mailbox = Mailbox::of_human(home);
    if !mailbox.exists() {
        return None;
    }
    let contents = inbox::list(&mailbox).map_err(|error| notes.push(format!("failed to {error}"))).ok()?;
    notes.extend(contents.notes);
    let mine = contents.messages.iter().filter(|one| one.shows.kind.as_deref() != Some("digest"));
    let (mut new, mut taken) = (0, 0);
    for one in mine {
        match one.standing.state {
            State::New => new += 1,
            State::Taken => taken += 1,
            State::Done | State::Declined => {}
        }
    }
    let command = "cd && loci inbox --open".to_owned();
    (new + taken > 0).then(|| Need {
        kind: "mail",
        about: HUMAN.to_owned(),
        count: new + taken,
        what: mail_words(new, taken),
        path: mailbox.dir().to_owned(),
        command,
    })
}

/// What agents ask of the human.
fn asked_for(home: &Path, notes: &mut Vec<String>) -> Option<Need> {
    let mailbox = Mailbox::of_human(home);
    if !mailbox.exists() {
        return None;
    }
    let found = requests::read(&mailbox, false).map_err(|error| notes.push(format!("failed to {error}"))).ok()?;
    notes.extend(found.notes);
    let count = found.requests.len() as u64 + found.unkept;
    let mut from: Vec<&str> = found.requests.iter().filter_map(|request| request.message.text("from")).collect();
    from.sort_unstable();
    from.dedup();
    let since = found.requests.iter().filter_map(|request| request.message.text("at")).min();
    let since = since.map(|at| format!(", since {}", shown::text(at))).unwrap_or_default();
    (count > 0).then(|| Need {
        kind: "request",
        about: from.join(" "),
        count,
        what: format!("{count} for you to answer{since}"),
        path: mailbox.dir().to_owned(),
        command: "loci requests".to_owned(),
    })
}

/// A clock that has not ticked for so long is none: whoever lets cron do it does so more often.
const SILENT_SECONDS: i64 = 24 * 60 * 60;

/// What is stuck in a root, what in it waits for a person, and whether anybody keeps it.
fn scheduled(root: Root, here: bool, now: Timestamp) -> Result<Vec<Need>, Failure> {
    let path = root.dir.clone();
    let at = if here { String::new() } else { format!(" --root {}", word(&path)) };
    let fold = ledger::read(&path)?;
    let mut needs = Vec::new();
    for (job, block) in &fold.open {
        let lacks = block.entry.missing.iter().map(ToString::to_string);
        let left = block.entry.left_running.iter().map(|one| format!("left running: {}", shown::text(one)));
        let cause = block.entry.cause.map(|cause| cause.word().to_owned());
        let why: Vec<String> = cause.into_iter().chain(lacks).chain(left).collect();
        needs.push(Need {
            kind: "stuck",
            about: job.clone(),
            count: block.times,
            what: format!("{}x since {}: {}", block.times, time::to_second(block.since), why.join("; ")),
            path: path.clone(),
            command: format!("loci ledger{at}"),
        });
    }
    if !Trust::read(&root.state, &path)?.enrolled {
        return Ok(needs);
    }
    let ticked = daemon::status(&root.state, &path)?.and_then(|status| status.get("at")?.as_str()?.parse::<Timestamp>().ok());
    let recently = ticked.is_some_and(|at| now.as_second() - at.as_second() < SILENT_SECONDS);
    if daemon::running(&root.state, &path).is_none() && !recently {
        let what = ticked.map_or_else(|| "enrolled, and never kept".to_owned(), |at| format!("not kept since {}", time::to_second(at)));
        let command = format!("loci clock run {}", word(&path));
        needs.push(Need { kind: "clock", about: shown::path(&path).to_string(), count: 1, what, path: path.clone(), command });
    }
    for (job, standing) in jobs::standing(root, Vec::new())? {
        let command = match &*standing.state {
            state if state == Why::NotAccepted.word() => format!("loci jobs accept {}{at}", word(Path::new(&job))),
            state if state.starts_with("refused") => format!("loci jobs{at}"),
            _ => continue,
        };
        needs.push(Need { kind: "job", about: job, count: 1, what: standing.state, path: path.clone(), command });
    }
    Ok(needs)
}

/// The gates that were put before a harness and don't ask; where directories have owners, also the harnesses
/// that are installed and have none.
fn gates(context: &Context, project: Option<&Path>, owned: bool) -> Vec<Need> {
    let reaches = [Some(Reach::User), project.map(|dir| Reach::Shared(dir.to_owned())), project.map(|dir| Reach::Project(dir.to_owned()))];
    let mut needs = Vec::new();
    let mut asks: Vec<&str> = Vec::new();
    for reach in reaches.into_iter().flatten() {
        for (adapter, (file, standing)) in connect::standings(context, &reach) {
            if standing == Standing::NotConnected {
                continue;
            }
            asks.push(adapter.name);
            let Some(why) = standing.why() else { continue };
            let flag = match &reach {
                Reach::User => String::new(),
                Reach::Shared(dir) => format!(" --shared {}", word(dir)),
                Reach::Project(dir) => format!(" --project {}", word(dir)),
            };
            let check = if matches!(standing, Standing::Differs | Standing::Gone) { "" } else { " --check" };
            needs.push(Need {
                kind: "gate",
                about: adapter.name.to_owned(),
                count: 1,
                what: format!("{}: {why}", standing.word()),
                path: file,
                command: format!("loci connect {}{check}{flag}", adapter.name),
            });
        }
    }
    if owned {
        for adapter in connect::installed(context).into_iter().filter(|adapter| !asks.contains(&adapter.name)) {
            needs.push(Need {
                kind: "gate",
                about: adapter.name.to_owned(),
                count: 1,
                what: "installed, and asks nobody before it writes".to_owned(),
                path: context.home.clone(),
                command: format!("loci connect {}", adapter.name),
            });
        }
    }
    needs
}
