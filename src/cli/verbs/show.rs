//! `loci show`: one agent on one screen.

mod runs;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use serde_json::{Map, Value, json};

use super::jobs::Standing;
use crate::body::embody::{self, Holder};
use crate::body::portrait::{self, Equipped, Portrait, Reads, SECTIONS, Waiting};
use crate::body::sockets::{self, Socket, SocketError};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::near::{self, word};
use crate::cli::output::table;
use crate::cli::{Answer, Outcome, wardrobe};
use crate::custody::maildir::Mailbox;
use crate::custody::{find, requests};
use crate::hooks::switches::Silent;
use crate::loadout::history::{self, Active, MatchedBy};
use crate::loadout::surface::Surface;
use crate::loadout::{Level, digest};
use crate::sys::{disk, shown};
use crate::tree::card::{self, OwnerFile};
use crate::tree::places::{Owner, Place};
use crate::tree::settings;

/// Show an agent: who, whose, what it is equipped with, who reads that, what waits
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  loci show agents/billing\n  loci show --json       # the agent whose directory you are in")]
pub struct Args {
    /// Its directory (default: the nearest one up from here that is an agent)
    dir: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
/// Where there is no such directory, or its identity file is broken.
pub fn run(context: &Context, args: Args) -> Outcome {
    let asked = args.dir.as_ref().or(context.flags.at.as_ref()).map_or_else(|| context.cwd.clone(), |dir| context.absolute(dir));
    if !disk::is_dir(&asked) {
        return Err(Failure::new("path", format!("failed to show {}: it is no directory", shown::path(&asked))).at(&asked, None));
    }
    let mut dir = disk::canonical(&asked)?;
    if args.dir.is_none()
        && let Some((body, _)) = find::body_around(&dir)
    {
        dir = body;
    }
    let Some(card) = card::agent(&dir) else { return nobody(context, &dir) };
    let (sockets, odd) = sockets(context)?;
    let mut portrait = portrait::of(&dir, card?, &settings::load(&context.home)?.dotdirs, &sockets, [&context.home, &context.state]);
    portrait.notes.extend(odd);
    let more = More { owns: owns(context, &portrait), ..more(context, &mut portrait) };
    context.print(|| words(context, &portrait, &more), || object(&portrait, &more))?;
    Ok(Answer::Yes)
}

/// The sockets that are there, and what is wrong with those that can't be used.
fn sockets(context: &Context) -> Result<(Vec<Socket>, Vec<String>), Failure> {
    let (mut found, mut odd) = (Vec::new(), Vec::new());
    for name in sockets::names(&context.home)? {
        match sockets::find(&name, &context.home) {
            Ok(socket) => found.push(socket),
            Err(SocketError::Unfit { path, line, why }) => {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                odd.push(format!("{}{line}: {why}", shown::path(&path)));
            }
            Err(error) => odd.push(format!("failed to {error}")),
        }
    }
    Ok((found, odd))
}

fn nobody(context: &Context, dir: &Path) -> Outcome {
    if !context.flags.json {
        context.say(&format!("no agent lives in {}", context.shown(dir)));
        context.say(&format!("hint: loci new {} --into", word(dir)));
    }
    context.print(String::new, || json!({ "schema": 1, "dir": dir.to_string_lossy(), "id": null }))?;
    Ok(Answer::No)
}

/// What this machine knows of an agent besides its own files.
#[derive(Default)]
struct More {
    /// The directories around here that it owns.
    owns: Vec<PathBuf>,
    /// How many of its requests wait for a person.
    requests: usize,
    /// Who embodies it now.
    embodied: Vec<Holder>,
    /// How its jobs stand, by name.
    jobs: std::collections::BTreeMap<String, Standing>,
    /// The hash of what it wears, and the archive that this is.
    loadout: Option<(String, Option<Active>)>,
}

fn more(context: &Context, portrait: &mut Portrait) -> More {
    let mut more = More::default();
    let mut odd = Vec::new();
    match embody::holders(&context.state, &portrait.dir) {
        Ok((holders, _)) => more.embodied = holders,
        Err(error) => odd.push(format!("failed to {error}")),
    }
    let human = Mailbox::of(&context.home);
    if human.exists() {
        match requests::read(&human, false) {
            Ok(found) => {
                let ours = |request: &&requests::Request| request.message.text("from") == Some(portrait.card.id.value.as_str());
                more.requests = found.requests.iter().filter(ours).count();
            }
            Err(error) => odd.push(format!("failed to {error}")),
        }
    }
    let dotdirs = settings::load(&context.home).map(|settings| settings.dotdirs).unwrap_or_default();
    let level = Level { dir: portrait.dir.clone(), dotdirs, state: context.state.clone() };
    let surface = Surface::of(&level, "claude", &[]).unwrap_or_default();
    let worn = || Ok((digest::of(&level.dir, &surface)?, history::active(&level, &wardrobe::stores(context, &level))?));
    let worn = digest::size(&level.dir, &surface).and_then(|size| if size > MOST_HASHED { Ok(Err(size)) } else { worn().map(Ok) });
    match worn {
        Ok(Ok(worn)) => more.loadout = Some(worn),
        Ok(Err(size)) => odd.push(format!("the loadout was not hashed, since it has {size} bytes: loci loadout active")),
        Err(error) => odd.push(format!("failed to {error}")),
    }
    match runs::of(context, portrait) {
        Ok(jobs) => more.jobs = jobs,
        Err(failure) => odd.push(failure.to_string().lines().next().unwrap_or_default().to_owned()),
    }
    portrait.notes.extend(odd);
    more
}

/// The largest loadout that is hashed in passing: whoever wants to look at somebody's directory does not wait for more.
const MOST_HASHED: u64 = 64 << 20;

/// How many directories of a list people see; the object has all.
const MAX_SHOWN: usize = 8;

/// The directories around here that it owns, as far as the search for a body goes too; never the whole
/// home.
fn owns(context: &Context, portrait: &Portrait) -> Vec<PathBuf> {
    let id = &portrait.card.id.value;
    let top = near::top(context, &portrait.dir);
    let home = disk::canonical(&context.home).unwrap_or_else(|_| context.home.clone());
    let places = if home.starts_with(&top) { find::owned_around(id, &portrait.dir) } else { find::places_below(&top) };
    let pinned_here = |place: &Path, owner: &OwnerFile| {
        owner.body.as_ref().is_none_or(|body| disk::canonical(&place.join(body)).is_ok_and(|body| body == portrait.dir))
    };
    let is_its = |place: &PathBuf| matches!(card::owner(place), Some(Ok(owner)) if owner.owner.value == *id && pinned_here(place, &owner));
    places.into_iter().filter(is_its).collect()
}

fn words(context: &Context, portrait: &Portrait, more: &More) -> String {
    let owns = &more.owns;
    let mut text = format!("{}  {}\n", portrait.card.id.value, context.shown(&portrait.dir));
    if let Some(description) = &portrait.card.description {
        let _ = writeln!(text, "{}", shown::text(description));
    }
    let mut rows = vec![vec!["owner".to_owned(), owner_words(context, portrait.owner.as_ref())]];
    let mut owned: Vec<String> = owns.iter().take(MAX_SHOWN).map(|dir| context.shown(dir)).collect();
    if owns.len() > MAX_SHOWN {
        owned.push(format!("(and {} more)", owns.len() - MAX_SHOWN));
    }
    rows.push(vec!["owns".to_owned(), if owned.is_empty() { "nothing".to_owned() } else { owned.join(" ") }]);
    rows.push(vec!["inbox".to_owned(), inbox_words(portrait.waiting)]);
    if more.requests > 0 {
        rows.push(vec![
            "asks".to_owned(),
            format!("{} for a person: loci requests", shown::count(more.requests, "request waits", "requests wait")),
        ]);
    }
    for Holder { run, .. } in &more.embodied {
        let words = format!("by {} since {} (pid {})", shown::text(&run.runtime), shown::text(&run.since), run.process.pid);
        rows.push(vec!["embodied".to_owned(), words]);
    }
    if let Some((hash, active)) = &more.loadout {
        rows.push(vec!["wears".to_owned(), worn_words(hash, active.as_ref())]);
    }
    let _ = write!(text, "\n{}", table(&rows));
    let rows = runs::rows(portrait, &more.jobs);
    if !rows.is_empty() {
        text.push_str("\nruns here\n");
        text.push_str(&table(&rows));
    }
    text.push_str("\nequipped\n");
    let rows: Vec<Vec<String>> = SECTIONS.iter().flat_map(|section| equipped_rows(section, &portrait.equipped)).collect();
    text.push_str(&table(&rows));
    text.push_str("\nread natively\n");
    let head = ["", "instructions", "skills", "rules", "agents"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(portrait.reads.iter().map(|reads| reads_row(portrait, reads))).collect();
    text.push_str(&table(&rows));
    if !portrait.below.is_empty() {
        text.push_str("\nbelow\n");
        let rows = portrait.below.iter().map(|below| {
            let agent = agent_of(below).map(|id| format!("agent {id}")).unwrap_or_default();
            let owner = below.owner.as_ref().map(|owner| format!("owned by {}", owner.id().unwrap_or("somebody"))).unwrap_or_default();
            vec![format!("  {}", inside(portrait, &below.path)), agent, owner]
        });
        text.push_str(&table(&rows.collect::<Vec<_>>()));
    }
    for note in notes(portrait) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn notes(portrait: &Portrait) -> impl Iterator<Item = String> {
    let of_card = portrait
        .card
        .remarks
        .iter()
        .map(|remark| format!("{}:{}: {}", shown::path(&portrait.card.path), remark.line, shown::text(&remark.text)));
    of_card.chain(portrait.notes.iter().map(|note| shown::text(note).to_string()))
}

/// Who lives in a place, where the file can be read.
fn agent_of(place: &Place) -> Option<&str> {
    place.body.as_ref()?.as_ref().ok().map(|card| card.id.value.as_str())
}

fn owner_words(context: &Context, owner: Option<&Owner>) -> String {
    let place =
        |path: &Path, line: Option<usize>| format!("{}{}", context.shown(path), line.map(|line| format!(":{line}")).unwrap_or_default());
    match owner.map(|owner| &owner.file) {
        None => "nobody".to_owned(),
        Some(Ok(file)) => format!("{} ({})", file.owner.value, place(&file.owner.path, file.owner.line)),
        Some(Err(error)) => format!("somebody: {} ({})", shown::text(&error.why), place(&error.path, error.line)),
    }
}

/// How many characters of a hash people see.
const HASH_SHOWN: usize = 18;

fn worn_words(hash: &str, active: Option<&Active>) -> String {
    let short: String = hash.chars().take(HASH_SHOWN).collect();
    match active {
        Some(active) if active.matched_by == MatchedBy::Hash => format!("{short}…, the archive {}", shown::text(&active.name)),
        Some(active) => format!("{short}…, which no archive is; the last one put in was {}", shown::text(&active.name)),
        None => format!("{short}…"),
    }
}

fn inbox_words(waiting: Waiting) -> String {
    let counts = [(waiting.new, "new"), (waiting.taken, "taken"), (waiting.done, "done"), (waiting.declined, "declined")];
    let parts: Vec<String> = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") }
}

/// An item by the name that it is switched by: a skill is its folder.
fn item_name(section: &str, item: &Equipped) -> String {
    let name = if section == "skills" {
        item.name.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(&item.name)
    } else {
        &item.name
    };
    shown::path(name).to_string()
}

fn equipped_rows(section: &str, equipped: &std::collections::BTreeMap<&'static str, Vec<Equipped>>) -> Vec<Vec<String>> {
    let items = equipped.get(section).map(Vec::as_slice).unwrap_or_default();
    if items.is_empty() {
        return vec![vec![format!("  {section}"), "nothing".to_owned()]];
    }
    let label = |at: usize| if at == 0 { format!("  {section}") } else { String::new() };
    let place = |item: &Equipped| if item.dotdir == ".loci" { String::new() } else { item.dotdir.clone() };
    let state = |item: &Equipped| match item.silent {
        None => if item.on { "on" } else { "off" }.to_owned(),
        Some(Silent::Standing(standing)) => format!("does not run: {}", standing.word()),
        Some(Silent::Off(by)) => format!("off ({})", by.word()),
    };
    items.iter().enumerate().map(|(at, item)| vec![label(at), item_name(section, item), state(item), place(item)]).collect()
}

fn inside(portrait: &Portrait, path: &Path) -> String {
    shown::path(path.strip_prefix(&portrait.dir).unwrap_or(path)).to_string()
}

fn reads_row(portrait: &Portrait, reads: &Reads) -> Vec<String> {
    let files: Vec<String> = reads.instructions.iter().map(|path| inside(portrait, path)).collect();
    let instructions = match files.as_slice() {
        [] => "no".to_owned(),
        _ if reads.agents_md => "yes".to_owned(),
        files => format!("only {}", files.join(", ")),
    };
    let cell = |section: &str| match reads.sections.get(section) {
        Some(reading) if !reading.native.is_empty() => "yes".to_owned(),
        Some(reading) if !reading.apart.is_empty() => {
            format!("only {}", reading.apart.iter().map(|path| inside(portrait, path)).collect::<Vec<_>>().join(", "))
        }
        _ => "no".to_owned(),
    };
    vec![format!("  {}", shown::text(&reads.runtime)), instructions, cell("skills"), cell("rules"), cell("agents")]
}

fn paths(list: &[PathBuf]) -> Value {
    list.iter().map(|path| json!(path.to_string_lossy())).collect()
}

fn object(portrait: &Portrait, more: &More) -> Value {
    let card = &portrait.card;
    let owner = match portrait.owner.as_ref().map(|owner| &owner.file) {
        None => Value::Null,
        Some(Ok(OwnerFile { owner: id, .. })) => json!({ "id": id.value, "path": id.path.to_string_lossy(), "line": id.line, "why": null }),
        Some(Err(error)) => json!({ "id": null, "path": error.path.to_string_lossy(), "line": error.line, "why": error.why }),
    };
    let item = |section: &str, item: &Equipped| json!({ "name": item_name(section, item), "on": item.on, "why": item.silent.map(Silent::word), "dotdir": item.dotdir, "path": item.path.to_string_lossy() });
    let mut equipped = Map::new();
    for section in SECTIONS {
        let items = portrait.equipped.get(section).map(Vec::as_slice).unwrap_or_default();
        equipped.insert(section.to_owned(), items.iter().map(|one| item(section, one)).collect());
    }
    let reads: Vec<Value> = portrait
        .reads
        .iter()
        .map(|reads| {
            let mut row = Map::new();
            row.insert("runtime".to_owned(), json!(reads.runtime));
            row.insert("instructions".to_owned(), json!({ "files": paths(&reads.instructions), "agents_md": reads.agents_md }));
            for (section, reading) in &reads.sections {
                row.insert((*section).to_owned(), json!({ "native": paths(&reading.native), "apart": paths(&reading.apart) }));
            }
            Value::Object(row)
        })
        .collect();
    let below: Vec<Value> = portrait
        .below
        .iter()
        .map(|below| json!({ "dir": below.path.to_string_lossy(), "id": agent_of(below), "owner": below.owner.as_deref().map(Owner::id) }))
        .collect();
    let waiting = portrait.waiting;
    let loadout = more.loadout.as_ref().map(|(hash, active)| {
        let by = |active: &Active| if active.matched_by == MatchedBy::Hash { "hash" } else { "history" };
        json!({
            "hash": hash, "active": active.as_ref().map(|one| &one.name), "matched_by": active.as_ref().map(by),
            "note": active.as_ref().and_then(|one| one.note.as_ref()),
        })
    });
    let automations = runs::objects(portrait, &more.jobs);
    let embodied: Vec<Value> = more
        .embodied
        .iter()
        .map(|one| json!({ "run": one.run.run, "runtime": one.run.runtime, "pid": one.run.process.pid, "since": one.run.since }))
        .collect();
    json!({
        "schema": 1, "dir": portrait.dir.to_string_lossy(), "id": card.id.value,
        "identity": {
            "path": card.path.to_string_lossy(), "description": card.description, "runtime": card.runtime, "parent": card.parent,
            "wake": card.wake, "hooks": card.hooks, "memory": card.memory, "vendor": card.vendor, "extra": card.extra,
        },
        "owner": owner, "owns": paths(&more.owns), "equipped": equipped, "loadout": loadout, "reads": reads, "automations": automations,
        "embodied": embodied, "requests": more.requests,
        "inbox": { "new": waiting.new, "taken": waiting.taken, "done": waiting.done, "declined": waiting.declined },
        "below": below, "notes": notes(portrait).collect::<Vec<_>>(),
    })
}
