//! What is true of a body now, read from its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::sockets::Socket;
use crate::custody::inbox::{self, State};
use crate::custody::maildir::Mailbox;
use crate::hooks::active::Active;
use crate::hooks::place::Ground;
use crate::hooks::switches::{self, Silent, Switches};
use crate::hooks::{declare, find, trust};
use crate::sys::{disk, shown};
use crate::tree::card::AgentFile;
use crate::tree::dotdirs::Dotdirs;
use crate::tree::places::{self, Owner, Place, Prune};
use crate::tree::resolve::{self, Request};

/// What a body can be equipped with.
pub const SECTIONS: [&str; 4] = ["skills", "rules", "agents", "hooks"];

/// Something that is equipped, or was and is switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equipped {
    /// Its path in the section, as it is called when it is on.
    pub name: PathBuf,
    /// The dotdir that it lies in.
    pub dotdir: String,
    /// Whether it is on: its file is, and, of a hook, nothing keeps it from running.
    pub on: bool,
    /// Why a hook whose file is on does not run all the same.
    pub silent: Option<Silent>,
    /// The file as it is called now.
    pub path: PathBuf,
}

/// How a runtime reads one section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Folders that it reads and that lead to the section in `.loci`.
    pub native: Vec<PathBuf>,
    /// Folders that it reads and that hold things of their own.
    pub apart: Vec<PathBuf>,
}

/// What a runtime reads of the body by itself.
#[derive(Debug, Clone)]
pub struct Reads {
    /// The runtime.
    pub runtime: String,
    /// The instruction files that it reads.
    pub instructions: Vec<PathBuf>,
    /// Whether `AGENTS.md` is among them or imported by one of them.
    pub agents_md: bool,
    /// Section by section: rules, skills, agents.
    pub sections: BTreeMap<&'static str, Reading>,
}

/// Something that could run here by itself: a file that is present. Whether it is armed stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automation {
    /// `job`, `loop` or `heartbeat`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Whether its file is on.
    pub on: bool,
    /// The file as it is called now.
    pub path: PathBuf,
}

/// Messages by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Nobody has looked.
    pub new: usize,
    /// Somebody works on them.
    pub taken: usize,
    /// Answered.
    pub done: usize,
    /// Answered with no.
    pub declined: usize,
}

/// What is true of a body.
#[derive(Debug)]
pub struct Portrait {
    /// The directory, real.
    pub dir: PathBuf,
    /// Who.
    pub card: AgentFile,
    /// Whose: the nearest owner file up from here, its own included.
    pub owner: Option<Owner>,
    /// What is equipped, by section.
    pub equipped: BTreeMap<&'static str, Vec<Equipped>>,
    /// What each runtime reads, by name.
    pub reads: Vec<Reads>,
    /// What waits.
    pub waiting: Waiting,
    /// What could run here by itself.
    pub automations: Vec<Automation>,
    /// Places below, sorted.
    pub below: Vec<Place>,
    /// What is to be said besides.
    pub notes: Vec<String>,
}

/// Looks at the body in `dir`, a real directory, whose identity file was read; with the hooks of the `home` level and
/// what the `state` folder says of it.
#[must_use]
pub fn of(dir: &Path, card: AgentFile, dotdirs: &Dotdirs, sockets: &[Socket], [home, state]: [&Path; 2]) -> Portrait {
    let mut notes = Vec::new();
    let mut equipped: BTreeMap<&'static str, Vec<Equipped>> =
        SECTIONS.into_iter().map(|section| (section, equipped(dir, section, dotdirs))).collect();
    if let Some(hooks) = equipped.get_mut("hooks").filter(|hooks| !hooks.is_empty() || card.hooks.is_some()) {
        notes.extend(silence(dir, &card, dotdirs, [home, state], hooks));
    }
    let waiting = waiting(dir, &mut notes);
    let walked = places::walk(dir, dotdirs, Prune::Foreign);
    notes.extend(walked.diagnostics.iter().map(|one| format!("{}: {}", shown::path(&one.path), one.text)));
    let mut below = places::describe(dir, walked.spots);
    below.retain(|place| place.path != dir);
    let reading = |socket: &&Socket| !socket.instructions.is_empty() || SECTIONS.iter().any(|section| !socket.folders(section).is_empty());
    let reads = sockets.iter().filter(reading).map(|socket| reads(dir, socket)).collect();
    Portrait {
        owner: places::owner_of(dir),
        dir: dir.to_owned(),
        card,
        equipped,
        reads,
        waiting,
        automations: automations(dir),
        below,
        notes,
    }
}

fn equipped(dir: &Path, section: &str, dotdirs: &Dotdirs) -> Vec<Equipped> {
    let request = Request { home: None, launch: Some(dir.to_owned()), active: None, slot: section.to_owned(), dotdirs: dotdirs.clone() };
    let Ok(found) = resolve::resolve(&request) else { return Vec::new() };
    let on = found.files.into_iter().map(|file| (file.provenance, file.rel, true, file.path));
    let off = found.off.into_iter().map(|file| (file.provenance, file.rel, false, file.path));
    let here =
        on.chain(off).filter(|(provenance, ..)| provenance.level == dir).filter(|(_, _, _, path)| section != "hooks" || is_hook(path));
    let mut items: Vec<Equipped> =
        here.map(|(provenance, name, on, path)| Equipped { name, dotdir: provenance.dotdir, on, silent: None, path }).collect();
    items.sort_by(|a, b| disk::by_bytes(a.name.as_os_str(), b.name.as_os_str()).then_with(|| b.on.cmp(&a.on)));
    items
}

/// Looks which hooks of the body run, as the relay does; returns what is to be said of the names in its own set.
fn silence(dir: &Path, card: &AgentFile, dotdirs: &Dotdirs, [home, state]: [&Path; 2], hooks: &mut [Equipped]) -> Vec<String> {
    let trust = trust::load(state);
    let around = find::hooks(&Ground { home: Some(home), launch: Some(dir), place: None, dotdirs, trust: &trust, harness: "" });
    let switches = Switches::of(&Active::default(), state, Some(dir));
    for hook in hooks.iter_mut().filter(|hook| hook.on) {
        hook.silent = around.all.iter().find(|one| one.found.path == hook.path).and_then(|one| switches.silence(one));
        hook.on = hook.silent.is_none();
    }
    let place = format!("{}{}", shown::path(&card.path), card.hooks_line.map(|line| format!(":{line}")).unwrap_or_default());
    let unknown = switches::unknown(card, &around.all);
    unknown.into_iter().map(|(name, near)| format!("{place}: {}", switches::unknown_words(name, near))).collect()
}

/// Whether a file of a hooks folder says that it is one: what else lies there is a helper of theirs.
fn is_hook(path: &Path) -> bool {
    disk::read_start(path, MAX_HEADER).is_ok_and(|(text, _)| matches!(declare::header(&text), Some(Ok(_))))
}

/// The most of a hook that its header is looked for in.
const MAX_HEADER: u64 = 64 << 10;

/// How many files of one kind are listed.
const MAX_AUTOMATIONS: usize = 4_096;

fn automations(dir: &Path) -> Vec<Automation> {
    let clock = dir.join(".loci-clock");
    let mut found = Vec::new();
    let mut add = |kind: &'static str, path: PathBuf| {
        let Some(file) = path.file_name().and_then(|name| name.to_str()) else { return };
        let (file, on) = file.strip_suffix(".inactive").map_or((file, true), |file| (file, false));
        if let Some(name) = file.strip_suffix(".md").filter(|name| !name.is_empty() && disk::is_file(&path)) {
            found.push(Automation { kind, name: name.to_owned(), on, path: path.clone() });
        }
    };
    for (kind, folder) in [("job", "jobs"), ("loop", "loops")] {
        let folder = clock.join(folder);
        let entries = disk::list_at_most(&folder, MAX_AUTOMATIONS).ok().flatten().unwrap_or_default();
        entries.into_iter().for_each(|entry| add(kind, folder.join(entry.name)));
    }
    ["heartbeat.md", "heartbeat.md.inactive"].iter().for_each(|name| add("heartbeat", clock.join(name)));
    found
}

fn waiting(dir: &Path, notes: &mut Vec<String>) -> Waiting {
    let mailbox = Mailbox::of(dir);
    let mut waiting = Waiting::default();
    if !mailbox.exists() {
        return waiting;
    }
    match inbox::states(&mailbox) {
        Err(error) => notes.push(format!("failed to {error}")),
        Ok((states, told)) => {
            notes.extend(told);
            for state in states {
                match state {
                    State::New => waiting.new += 1,
                    State::Taken => waiting.taken += 1,
                    State::Done => waiting.done += 1,
                    State::Declined => waiting.declined += 1,
                }
            }
        }
    }
    waiting
}

/// The most of an instruction file that is looked through for an import.
const MAX_INSTRUCTIONS: u64 = 1 << 20;

fn reads(dir: &Path, runtime: &Socket) -> Reads {
    let there = runtime.instructions.iter().map(|name| dir.join(name)).filter(|path| disk::is_file(path));
    let instructions: Vec<PathBuf> = there.take(if runtime.first_only { 1 } else { usize::MAX }).collect();
    let agents = dir.join("AGENTS.md");
    let reaches = |path: &PathBuf| *path == agents || (runtime.imports && imports(path));
    let agents_md = disk::is_file(&agents) && instructions.iter().any(reaches);
    let sections = ["rules", "skills", "agents"].into_iter().map(|section| (section, reading(dir, section, runtime))).collect();
    Reads { runtime: runtime.name.clone(), instructions, agents_md, sections }
}

/// The instruction file of a body by which a runtime that reads such files does not come to `AGENTS.md`; `None` where
/// it does, or where neither is there.
#[must_use]
pub fn without_instructions(dir: &Path, runtime: &Socket) -> Option<PathBuf> {
    let Ok(agents) = disk::canonical(&dir.join("AGENTS.md")) else { return None };
    let reads = reads(dir, runtime);
    let same = |path: &PathBuf| disk::canonical(path).is_ok_and(|path| path == agents);
    reads.instructions.first().filter(|_| !reads.agents_md && !reads.instructions.iter().any(same)).cloned()
}

fn imports(path: &Path) -> bool {
    let Ok((text, _)) = disk::read_start(path, MAX_INSTRUCTIONS) else { return false };
    text.split(|byte| *byte == b'\n').any(|line| matches!(line.trim_ascii(), b"@AGENTS.md" | b"@./AGENTS.md"))
}

fn reading(dir: &Path, section: &str, runtime: &Socket) -> Reading {
    let own = disk::canonical(&dir.join(".loci").join(section)).ok();
    let mut reading = Reading::default();
    for folder in runtime.folders(section) {
        let path = dir.join(folder);
        match disk::canonical(&path) {
            Ok(real) if own.as_ref() == Some(&real) => reading.native.push(path),
            Ok(real) if disk::is_dir(&real) => reading.apart.push(path),
            _ => {}
        }
    }
    reading
}
