//! The place an agent stands in, and the rules that hold there.
//!
//! A process's working directory is fixed when it starts, so after each tool call the place is read out
//! of the call, and swapped, not gathered up: the rules of a place just entered go back with the result
//! that entered it, leaving it is said and drops them. Where the session was started stays.

use std::path::{Path, PathBuf};

use super::event::Event;
use super::persona;
use super::state::{Memory, Piece};
use super::tools::{Class, Command, ShellCall};
use super::trust::{Standing, Trust};
use crate::custody::act::Act;
use crate::sys::disk::{self, Kind};
use crate::sys::shown;
use crate::text::digest;
use crate::tree::dotdirs::Dotdirs;
use crate::tree::real;
use crate::tree::resolve::{self, Found, Request, RootKind, resolve};

/// The most words of a command that are looked at.
const MAX_WORDS: usize = 2_000;
/// Which rules a harness reads by itself at home and where it was started: its name, and the dotdir.
const READ_BY_ITSELF: &[(&str, &str)] = &[("claude", ".claude"), ("copilot", ".claude"), ("qwen", ".qwen")];
/// How the entry of a rule is kept that was named and not told.
const NAMED: &str = "named:";

/// What is looked at around a session.
#[derive(Debug)]
pub struct Ground<'a> {
    /// The home that holds the registry.
    pub home: Option<&'a Path>,
    /// Where the session was started.
    pub launch: Option<&'a Path>,
    /// Where the agent stands.
    pub place: Option<&'a Path>,
    /// The dotdirs that count.
    pub dotdirs: &'a Dotdirs,
    /// What is trusted.
    pub trust: &'a Trust,
    /// The harness, by its name.
    pub harness: &'a str,
}

impl Ground<'_> {
    /// What is asked of the resolver about a slot.
    #[must_use]
    pub fn request(&self, slot: &str) -> Request {
        Request {
            home: self.home.map(Path::to_owned),
            launch: self.launch.map(Path::to_owned),
            active: self.place.map(Path::to_owned),
            slot: slot.to_owned(),
            dotdirs: self.dotdirs.clone(),
        }
    }

    /// Whether the harness puts this rule into its context by itself.
    fn reads_itself(&self, found: &Found) -> bool {
        let Some((_, dotdir)) = READ_BY_ITSELF.iter().find(|(harness, _)| *harness == self.harness) else { return false };
        let level = &found.provenance.level;
        let started = self.launch.is_some_and(|launch| real::real(launch, true).path == *level);
        let at_home = found.provenance.root == RootKind::Home;
        // Through a link as well: a body's rules lie in `.loci`, and the harness's folder leads there.
        (started || at_home) && disk::canonical(&level.join(dotdir).join("rules")).is_ok_and(|folder| found.real.starts_with(folder))
    }
}

/// The directory that a call has read from, or run a command in; of several the last one. `None` where
/// nothing tells. Nothing fails by it.
#[must_use]
pub fn scraped(event: &Event, class: &Class, acts: &[Act], home: Option<&Path>) -> Option<PathBuf> {
    match class {
        Class::Shell(call) => of_words(call, home).or_else(|| directory(&call.cwd)),
        _ => acts.iter().rev().find_map(|act| directory(&act.path)),
    }
    .or_else(|| event.rest.get("new_cwd").and_then(serde_json::Value::as_str).and_then(|cwd| directory(Path::new(cwd))))
}

/// The last word of some commands that is a file or a directory.
fn of_words(call: &ShellCall, home: Option<&Path>) -> Option<PathBuf> {
    let mut words: Vec<String> = Vec::new();
    for command in &call.commands {
        match command {
            Command::Text(text) => {
                let cut = |c: char| c.is_whitespace() || "\"'`;|&<>()=".contains(c);
                words.extend(text.split(cut).filter(|word| !word.is_empty()).take(MAX_WORDS).map(str::to_owned));
            }
            Command::Argv(argv) => words.extend(argv.iter().take(MAX_WORDS).cloned()),
            Command::Program(_) => {}
        }
    }
    let path = |word: &String| {
        if word.starts_with('-') || word.contains(['$', '*']) || word.len() > 4_000 {
            return None;
        }
        let path = match (word.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => call.cwd.join(word),
        };
        directory(&path)
    };
    words.iter().rev().take(MAX_WORDS).find_map(path)
}

/// The directory of a file, or the directory itself, really.
fn directory(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let real = real::real(path, true);
    match disk::look(&real.path).ok()??.kind {
        Kind::Dir => Some(real.path),
        Kind::File => real.path.parent().map(Path::to_owned),
        _ => None,
    }
}

/// What is to be told of the rules that hold here: what is new or has changed, and what holds no longer.
/// `absolute`: a persona stands in their place.
pub(super) fn tell(ground: &Ground<'_>, memory: &mut Memory, absolute: bool) -> Vec<Piece> {
    let Ok(found) = resolve(&ground.request("rules")) else { return Vec::new() };
    let mut pieces = Vec::new();
    let mut holds: Vec<PathBuf> = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    for file in found.files.iter().filter(|file| !ground.reads_itself(file)) {
        let standing = ground.trust.of(file);
        let digest = file.digest();
        if !standing.is_trusted() {
            let entry = format!("{NAMED}{digest}");
            holds.push(file.path.clone());
            if memory.rules.get(&file.path) != Some(&entry) {
                memory.rules.insert(file.path.clone(), entry);
                unread.push(format!("{} ({})", shown::path(&file.path), standing.word()));
            }
            continue;
        }
        if absolute {
            continue;
        }
        holds.push(file.path.clone());
        if memory.rules.get(&file.path) != Some(&digest) {
            memory.rules.insert(file.path.clone(), digest);
            pieces.push(rule(file));
        }
    }
    let gone: Vec<(PathBuf, String)> =
        memory.rules.iter().filter(|(path, _)| !holds.contains(path)).map(|(path, entry)| (path.clone(), entry.clone())).collect();
    for (path, _) in &gone {
        memory.rules.remove(path);
    }
    let told: Vec<String> =
        gone.iter().filter(|(_, entry)| !entry.starts_with(NAMED)).map(|(path, _)| shown::path(path).to_string()).collect();
    if !told.is_empty() {
        let text = format!("[loci] You have left where these rules hold; they bind you no longer: {}", told.join(", "));
        pieces.insert(0, Piece { name: "what holds no longer".to_owned(), text });
    }
    if !unread.is_empty() {
        let text = format!(
            "[loci] Rules that are not shown, since nobody has said that this directory is to be trusted (a person can: `loci trust`): {}",
            unread.join(", ")
        );
        pieces.push(Piece { name: "rules that are not trusted".to_owned(), text });
    }
    pieces
}

fn rule(file: &Found) -> Piece {
    let level = shown::path(&file.provenance.level);
    let place = match file.provenance.root {
        RootKind::Home => "your user's own, in force everywhere".to_owned(),
        RootKind::Launch => format!("in force all through this session, from {level}"),
        RootKind::Active => format!("in force while you work in {level}"),
    };
    let body = String::from_utf8_lossy(file.body());
    Piece {
        name: file.path.to_string_lossy().into_owned(),
        text: format!("[loci] Rule {} ({place}):\n{}", shown::path(&file.path), body.trim()),
    }
}

/// The surfaces that can declare a persona, the nearest first: instructions, rules, and what a body says
/// of itself; with how each one stands.
pub(super) fn surfaces(ground: &Ground<'_>) -> Vec<(PathBuf, Standing, Vec<u8>)> {
    let mut all = Vec::new();
    for slot in ["instructions", "rules"] {
        let Ok(found) = resolve(&ground.request(slot)) else { continue };
        all.extend(found.files.into_iter().rev().map(|file| {
            let standing = ground.trust.of(&file);
            (file.provenance.level, file.path, standing, file.bytes)
        }));
    }
    let mut bodies = resolve::ladder(&ground.request("agents"), &mut Vec::new());
    bodies.reverse();
    for level in &bodies {
        let path = level.path.join(".loci/agent.md");
        if !disk::is_file(&path) {
            continue;
        }
        let Ok(Some(bytes)) = disk::read_bounded(&path, 256 << 10) else { continue };
        let standing = if level.root == RootKind::Home { Standing::Home } else { ground.trust.of_bytes(&path, &path, &bytes) };
        all.push((level.path.clone(), path, standing, bytes));
    }
    // The nearest level first; at one level in the order of the slots.
    let rank = |dir: &Path| bodies.iter().position(|level| level.path == dir).unwrap_or(usize::MAX);
    all.sort_by_key(|(level, ..)| rank(level));
    all.into_iter()
        .filter(|(_, _, _, bytes)| persona::declared(bytes).is_some())
        .map(|(_, path, standing, bytes)| (path, standing, bytes))
        .collect()
}

/// The digest of a text for a model, to tell whether it was told already.
pub(super) fn mark(text: &str) -> String {
    digest::sha256(text.as_bytes())
}
