//! The sweep: every diagnostic under a directory with its fix, the transport test, the law of the
//! five dotdirs, and bodies that share an id.
//!
//! The cost is in proportion to what is there: files are looked at from their start, links are
//! followed within one budget for the whole sweep, and nothing that is found is run or followed
//! further.

mod data;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::card::{Card, Remark};
use super::diagnostic::Diagnostic;
use super::dotdirs::{self, Dotdir, Dotdirs, GRAPH, IDENTITY, Layer, RENDER, RUNTIME};
use super::find::{Budget, Item};
use super::gather;
use super::places::{self, Owner, Place, Prune, Spot};
use super::readings;
use super::resolve::{Level, RootKind};
use super::secrets;
use super::slot::{self, Grammar, Row};
use super::transport::{self, Why};
use crate::sys::disk::{self, Entry, Kind};
use crate::text::header;

/// How much of a file is looked at, in bytes.
const START: u64 = 128 * 1024;
/// The largest file that is looked through for secrets, in bytes.
const MAX_FILE: u64 = 1024 * 1024;
/// How many entries of one dotdir the transport test looks at.
const MAX_ENTRIES: usize = 50_000;
/// How deep it goes.
const MAX_DEPTH: usize = 64;

/// One thing that is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file or directory.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: Option<usize>,
    /// The stable word.
    pub code: &'static str,
    /// What is wrong; reads on after the path.
    pub text: String,
    /// What to do about it.
    pub fix: String,
}

/// What a sweep came to.
#[derive(Debug, Default)]
pub struct Sweep {
    /// What is wrong, in the order of the paths.
    pub findings: Vec<Finding>,
    /// How many places were looked at.
    pub places: usize,
    /// Of them, the directories that a clock or hooks may read: those with a dotdir of loci's own.
    pub own: Vec<PathBuf>,
    /// How many directory entries and files were looked at: the cost.
    pub looked: usize,
}

impl From<Diagnostic> for Finding {
    fn from(one: Diagnostic) -> Self {
        Self { path: one.path, line: one.line, code: one.code.word(), text: one.text, fix: one.code.fix().to_owned() }
    }
}

/// Sweeps a real directory. `home` is the home level, real.
#[must_use]
pub fn sweep(root: &Path, home: &Path, dotdirs: &Dotdirs) -> Sweep {
    let walked = places::walk(root, dotdirs, Prune::Foreign);
    let mut doctor = Doctor {
        dotdirs,
        home,
        budget: Budget { linked: 100_000 },
        home_items: HashMap::new(),
        sweep: Sweep { looked: walked.entries, places: walked.spots.len(), ..Sweep::default() },
    };
    doctor.sweep.findings.extend(walked.diagnostics.into_iter().map(Finding::from));
    for spot in &walked.spots {
        doctor.place(spot);
        if spot.dotdirs.iter().any(|name| name == IDENTITY || name == RUNTIME) {
            doctor.sweep.own.push(spot.path.clone());
        }
    }
    doctor.identities(&places::describe(root, walked.spots));
    let mut sweep = doctor.sweep;
    sweep.findings.sort();
    sweep.findings.dedup();
    sweep
}

/// What stands in a dotdir, listed once: asking the disk for each name that could be there is the whole
/// cost of a tree of empty ones. `None` where it can't be listed.
struct Top(Option<Vec<Entry>>);

impl Top {
    fn of(dotdir: &Dotdir) -> Self {
        Self(disk::list(&dotdir.path).ok())
    }

    /// Whether the disk may have something of that name there: it may fold case.
    fn may_hold(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|entries| entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name)))
    }
}

struct Doctor<'a> {
    dotdirs: &'a Dotdirs,
    home: &'a Path,
    budget: Budget,
    /// What names in `_use.yaml` mean, by slot.
    home_items: HashMap<String, Vec<Item>>,
    sweep: Sweep,
}

impl Doctor<'_> {
    fn find(&mut self, path: &Path, code: &'static str, text: impl Into<String>, fix: impl Into<String>) {
        self.sweep.findings.push(Finding { path: path.to_owned(), line: None, code, text: text.into(), fix: fix.into() });
    }

    fn place(&mut self, spot: &Spot) {
        let mut diagnostics = Vec::new();
        let level =
            Level { root: RootKind::Launch, path: spot.path.clone(), dotdirs: dotdirs::at(&spot.path, self.dotdirs, &mut diagnostics) };
        self.sweep.findings.extend(diagnostics.into_iter().map(Finding::from));
        let tops: Vec<Top> = level.dotdirs.iter().map(Top::of).collect();
        for row in slot::TABLE.iter().filter(|row| !row.name.is_empty()) {
            self.slot(&level, row, &tops);
        }
        for (dotdir, top) in level.dotdirs.iter().zip(tops) {
            self.law(dotdir, &top);
            // What a harness keeps in its own home is its own affair.
            if !(level.path == self.home && dotdir.layer == Layer::Vendor) && dotdir.real == dotdir.path {
                self.transport(dotdir, top);
            }
        }
        self.view(&level);
        if spot.path == self.home
            && let Err(error) = super::settings::load(self.home)
        {
            let one = Finding {
                path: error.path,
                line: error.line,
                code: "settings-broken",
                text: error.why,
                fix: "correct the line".to_owned(),
            };
            self.sweep.findings.push(one);
        }
    }

    fn slot(&mut self, level: &Level, row: &Row, tops: &[Top]) {
        if !level.dotdirs.iter().any(|dotdir| row.reads(dotdir.layer)) || matches!(row.grammar, Grammar::Named { .. }) {
            return;
        }
        let there = |(dotdir, top): (&Dotdir, &Top)| {
            top.may_hold(row.name) && matches!(disk::look(&dotdir.path.join(row.name)), Ok(Some(_)) | Err(_))
        };
        if !level.dotdirs.iter().zip(tops).any(there) {
            return;
        }
        if !self.home_items.contains_key(row.name) {
            let home =
                Level { root: RootKind::Home, path: self.home.to_owned(), dotdirs: dotdirs::at(self.home, self.dotdirs, &mut Vec::new()) };
            let found = gather::one_level(&home, row.name, &[], &mut self.budget, START);
            let items = found.files.into_iter().map(|file| Item { rel: file.rel, path: file.path, real: file.real }).collect();
            self.home_items.insert(row.name.to_owned(), items);
        }
        let home = self.home_items.get(row.name).map(Vec::as_slice).unwrap_or_default();
        let found = gather::one_level(level, row.name, home, &mut self.budget, START);
        self.sweep.looked += found.files.len() + found.dropped.len() + found.off.len();
        self.sweep.findings.extend(found.diagnostics.into_iter().map(Finding::from));
    }

    /// No layer reads another layer's slot, so what lies in the wrong one is read by nobody.
    fn law(&mut self, dotdir: &Dotdir, top: &Top) {
        for row in slot::TABLE.iter().filter(|row| matches!(row.grammar, Grammar::Folder { .. }) && !row.name.is_empty()) {
            let path = dotdir.path.join(row.name);
            // The scripts of a harness's own hooks lie in its own dotdir: that layer is its own.
            let own = row.reads(dotdir.layer) || dotdir.layer == Layer::Vendor && row.name == "hooks";
            if !own && top.may_hold(row.name) && matches!(disk::look(&path), Ok(Some(meta)) if meta.kind != Kind::File) {
                self.foreign(&path, dotdir, row.layers.iter().copied());
            }
        }
        for (name, layer) in [
            ("agent.md", Layer::Identity),
            ("owner.md", Layer::Identity),
            ("heartbeat.md", Layer::Runtime),
            ("ledger.jsonl", Layer::Runtime),
        ] {
            let path = dotdir.path.join(name);
            let elsewhere = dotdir.layer != layer && dotdir.layer != Layer::Vendor;
            if elsewhere && top.may_hold(name) && matches!(disk::look(&path), Ok(Some(_))) {
                self.foreign(&path, dotdir, std::iter::once(layer));
            }
        }
    }

    fn foreign(&mut self, path: &Path, dotdir: &Dotdir, layers: impl Iterator<Item = Layer>) {
        let readers: Vec<&str> = layers
            .map(|layer| match layer {
                Layer::Vendor => "a vendor dotdir",
                Layer::Identity => IDENTITY,
                Layer::Runtime => RUNTIME,
                Layer::Render => RENDER,
                Layer::Graph => GRAPH,
            })
            .collect();
        let text = format!("is read by nobody: the {} layer does not have it", dotdir.layer.word());
        self.find(path, "foreign-slot", text, format!("move it to {}", readers.join(" or ")));
    }

    /// `.loci-view` holds a program that renders, never a list of what it renders: the tree is that
    /// list.
    fn view(&mut self, level: &Level) {
        let Some(dotdir) = level.dotdirs.iter().find(|dotdir| dotdir.layer == Layer::Render) else { return };
        let Ok(entries) = disk::list(&dotdir.path) else { return };
        self.sweep.looked += entries.len();
        for entry in entries.iter().filter(|entry| entry.kind == Kind::File) {
            let name = entry.name.to_string_lossy();
            if ![".json", ".yaml", ".yml", ".jsonl", ".csv"].iter().any(|ending| name.ends_with(ending)) {
                continue;
            }
            let path = dotdir.path.join(&entry.name);
            let Ok((bytes, false)) = disk::read_start(&path, header::MAX_BYTES as u64) else { continue };
            if data::is_list_of_objects(&name, &bytes) {
                self.find(
                    &path,
                    "view-list",
                    "lists the objects that the place renders",
                    "let the program find them in the tree, and remove the list",
                );
            }
        }
    }

    /// What does not move with the directory, below one dotdir.
    fn transport(&mut self, dotdir: &Dotdir, top: Top) {
        let mut left = MAX_ENTRIES;
        let mut top = top.0;
        let mut open: Vec<(PathBuf, usize)> = vec![(dotdir.path.clone(), 0)];
        while let Some((dir, depth)) = open.pop() {
            // The dotdir itself comes first, and was listed already.
            let Some(entries) = top.take().or_else(|| disk::list(&dir).ok()) else { continue };
            self.sweep.looked += entries.len();
            let Some(rest) = left.checked_sub(entries.len()).filter(|_| depth <= MAX_DEPTH) else {
                self.find(&dir, "unreadable", "holds too much to be looked through", "move what is no configuration out of the dotdir");
                return;
            };
            left = rest;
            for entry in entries {
                let path = dir.join(&entry.name);
                let Ok(rel) = path.strip_prefix(&dotdir.path) else { continue };
                let exempt = dotdir.layer == Layer::Identity && rel == Path::new("memory");
                // What stands for an identity or an owner file is said as such.
                let file = dotdir.layer == Layer::Identity && ["agent.md", "owner.md"].iter().any(|name| rel == Path::new(name));
                if exempt
                    || file && entry.kind == Kind::Other
                    || entry.kind == Kind::Dir && slot::is_foreign_folder(&entry.name.to_string_lossy())
                {
                    continue;
                }
                match entry.kind {
                    Kind::Dir => open.push((path, depth + 1)),
                    Kind::Link => {
                        // The registry's own link to the program of this machine is made here, by `connect`.
                        let own = dotdir.path == self.home.join(dotdirs::IDENTITY) && rel == Path::new("bin/loci");
                        if !own && disk::read_link(&path).is_ok_and(|target| target.is_absolute()) {
                            self.fails(&path, Why::Link, None);
                        }
                    }
                    Kind::Other => self.fails(&path, Why::Process, None),
                    Kind::File => self.carries(&path, transport::by_name(rel)),
                }
            }
        }
    }

    fn carries(&mut self, path: &Path, by_name: Option<Why>) {
        match by_name {
            Some(why) => self.fails(path, why, None),
            None => {
                // Configuration is small; what is not is looked at by its name only.
                let Ok(Some(bytes)) = disk::read_bounded(path, MAX_FILE) else { return };
                if let Some(line) = secrets::line(&bytes) {
                    self.fails(path, Why::Token, Some(line));
                } else if path.extension().is_some_and(|ending| ending == "md") {
                    let header = header::parse(&bytes);
                    if header.value("armed").is_some_and(|value| *value != Value::Bool(false)) {
                        self.fails(path, Why::Armed, header.line("armed"));
                    }
                }
            }
        }
    }

    fn fails(&mut self, path: &Path, why: Why, line: Option<usize>) {
        let one = Finding { path: path.to_owned(), line, code: why.code(), text: why.text().to_owned(), fix: why.fix().to_owned() };
        self.sweep.findings.push(one);
    }

    /// Identity files that can't be read, and bodies that share an id.
    fn identities(&mut self, places: &[Place]) {
        for place in places {
            if let Some(owner) = place.owner.as_deref().filter(|owner| owner.dir == place.path) {
                let card = Some(owner.file.as_ref().map(|file| file.remarks.as_slice()).map_err(Clone::clone));
                self.card("owner-broken", owner.path(), card);
                self.pinned(owner);
            }
            if let Some(body) = &place.body {
                let path = body.as_ref().map_or_else(|error| error.path.clone(), |body| body.path.clone());
                self.card("agent-broken", &path, Some(body.as_ref().map(|body| body.remarks.as_slice()).map_err(Clone::clone)));
            }
        }
        for (id, bodies) in readings::bodies(places).into_iter().filter(|(_, bodies)| bodies.len() > 1) {
            let paths: Vec<PathBuf> = bodies.iter().map(|place| place.path.join(IDENTITY).join("agent.md")).collect();
            for path in &paths {
                let others: Vec<String> =
                    paths.iter().filter(|other| *other != path).map(|other| crate::sys::shown::path(other).to_string()).collect();
                self.find(
                    path,
                    "duplicate-id",
                    format!("has the id `{id}`, and so has {}", others.join(", ")),
                    "give one of them another id",
                );
            }
        }
    }

    /// An owner file that pins a body in which its owner does not live: nobody may write there then,
    /// and nobody is told.
    fn pinned(&mut self, owner: &Owner) {
        let Ok(file) = &owner.file else { return };
        let Some(body) = &file.body else { return };
        let id = &file.owner.value;
        let there = match super::card::agent(&super::real::real(&owner.dir.join(body), true).path) {
            Some(Ok(agent)) if agent.id.value == *id => return,
            Some(Ok(agent)) => format!("where {} lives", agent.id.value),
            Some(Err(_)) => "whose identity file can't be used".to_owned(),
            None => "where nobody lives".to_owned(),
        };
        self.sweep.findings.push(Finding {
            path: file.path.clone(),
            line: file.body_line,
            code: "owner-astray",
            text: format!("pins the body {}, {there}: so {id} owns it and may not write in it", body.display()),
            fix: format!("loci own {} --as {id}", crate::sys::shown::path(&owner.dir)),
        });
    }

    fn card(&mut self, code: &'static str, path: &Path, card: Card<&[Remark]>) {
        match card {
            None => {}
            Some(Err(error)) => {
                let no_file = matches!(disk::look_through(&error.path), Ok(Some(meta)) if meta.kind != Kind::File);
                let fix = match error.why.contains("ermission denied") {
                    true => "let it be read: chmod u+r",
                    false if no_file => "remove it, and write a regular file of that name",
                    false => "correct the file",
                };
                let one = Finding {
                    path: error.path,
                    line: error.line,
                    code,
                    text: format!("can't be used: {}", error.why),
                    fix: fix.to_owned(),
                };
                self.sweep.findings.push(one);
            }
            Some(Ok(remarks)) => {
                let fix = "correct the line".to_owned();
                let of = |remark: &Remark| Finding {
                    path: path.to_owned(),
                    line: Some(remark.line),
                    code,
                    text: remark.text.clone(),
                    fix: fix.clone(),
                };
                self.sweep.findings.extend(remarks.iter().map(of));
            }
        }
    }
}
