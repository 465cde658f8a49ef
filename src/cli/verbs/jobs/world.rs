//! The jobs of a root, with what is known and what is allowed of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::verbs::{clock, loops as loop_verbs};
use crate::clock::decide;
use crate::clock::engine::{Root, Why};
use crate::clock::job::{self, Job, LoadError, Loop, Need};
use crate::clock::loops;
use crate::clock::record::Record;
use crate::clock::schedule::When;
use crate::clock::store::Store;
use crate::clock::trust::{self, Trust};
use crate::clock::wake;
use crate::sys::disk::PathError;
use crate::sys::{disk, random, shown, time};
use crate::text::near;

/// The jobs of a root.
#[derive(Debug, Default)]
pub(in crate::cli::verbs) struct Found {
    /// Those that were read.
    pub(in crate::cli::verbs) jobs: Vec<Arc<Job>>,
    /// Those that are refused.
    pub(in crate::cli::verbs) errors: Vec<LoadError>,
}

/// Reads every job of a root, in the order of their names.
pub(in crate::cli::verbs) fn read_all(root: &Root) -> Result<Found, Failure> {
    let dir = root.dotdir().join("jobs");
    let mut found = Found::default();
    let entries = if disk::look_through(&dir)?.is_some() { disk::list(&dir)? } else { Vec::new() };
    let files = entries.iter().filter_map(|entry| entry.name.to_str()).filter(|name| name.ends_with(".md") && !name.starts_with('.'));
    let mut paths: Vec<PathBuf> = files.map(|name| dir.join(name)).collect();
    let heart = root.dotdir().join("heartbeat.md");
    if disk::look_through(&heart)?.is_some() {
        paths.push(heart);
    }
    for path in paths.into_iter().filter(|path| disk::is_file(path)) {
        match read_one(&path) {
            Ok(Ok(Some(job))) => found.jobs.push(Arc::new(job)),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => found.errors.push(error),
            // One that can't be read hides no other.
            Err(error) => {
                let why = format!("it can't be read: {}", error.source);
                found.errors.push(LoadError { path, line: None, field: None, why });
            }
        }
    }
    let needs: BTreeMap<&str, &[Need]> = found.jobs.iter().map(|job| (&*job.name, &*job.needs)).collect();
    let broken = |name: &str| found.errors.iter().any(|error| error.path.file_stem().is_some_and(|stem| stem == name));
    let refused = job::refused(&needs, &|name| needs.contains_key(name) || broken(name));
    let path = |name: &str| dir.join(format!("{name}.md"));
    let refused: BTreeMap<String, String> = refused.into_iter().map(|(name, why)| (name.to_owned(), why)).collect();
    found.jobs.retain(|job| !refused.contains_key(&*job.name));
    let lacks = refused.into_iter().map(|(name, why)| LoadError { path: path(&name), line: None, field: Some("needs".to_owned()), why });
    found.errors.extend(lacks);
    Ok(found)
}

pub(super) fn read_one(path: &Path) -> Result<Result<Option<Job>, LoadError>, PathError> {
    let bytes = disk::read_bounded(path, job::MAX_BYTES)?;
    let Some(bytes) = bytes else {
        let why = format!("it has more than {} bytes", job::MAX_BYTES);
        return Ok(Err(LoadError { path: path.to_owned(), line: None, field: None, why }));
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_heart = path.file_name().is_some_and(|name| name == "heartbeat.md") && !path.parent().is_some_and(|dir| dir.ends_with("jobs"));
    let loaded = if is_heart { job::parse_beat(path, &bytes) } else { job::parse(&name, path, &bytes).map(Some) };
    Ok(loaded.map(|loaded| loaded.map(|loaded| loaded.job)))
}

/// Everything about the jobs of a root.
pub(super) struct World {
    pub(super) root: Root,
    pub(super) found: Found,
    pub(super) trust: Trust,
    pub(super) records: BTreeMap<String, Record>,
}

pub(super) fn world(context: &Context) -> Result<World, Failure> {
    let root = clock::root(context, None)?;
    let mut found = read_all(&root)?;
    let (wakes, wrong) = wake::all(&root.dir);
    found.jobs.extend(wakes.into_iter().map(Arc::new));
    found.errors.extend(wrong.into_iter().map(|(path, line, why)| LoadError { path, line, field: None, why }));
    let trust = Trust::read(&root.state, &root.dir)?;
    let records = Store::read(&Store::folder(&root.state, &root.dir))?.0.records;
    Ok(World { root, found, trust, records })
}

/// How one job stands, for whoever shows an agent.
pub(in crate::cli::verbs) struct Standing {
    /// Whether it may run, or why not.
    pub(in crate::cli::verbs) state: String,
    /// What came of its last instant.
    pub(in crate::cli::verbs) last: Option<&'static str>,
    /// Whether it stands in the ledger.
    pub(in crate::cli::verbs) stuck: bool,
}

/// How the jobs of a root stand, by name; of the bodies that mail wakes, those that are handed in.
pub(in crate::cli::verbs) fn standing(root: Root, wakes: Vec<Job>) -> Result<BTreeMap<String, Standing>, Failure> {
    let mut found = read_all(&root)?;
    found.jobs.extend(wakes.into_iter().map(Arc::new));
    let trust = Trust::read(&root.state, &root.dir)?;
    let records = Store::read(&Store::folder(&root.state, &root.dir))?.0.records;
    let ledger = crate::clock::ledger::read(&root.dir)?;
    let world = World { root, found, trust, records };
    let one = |name: &str, state: String| {
        let last = world.records.get(name).and_then(|record| record.past.outcome).map(|outcome| outcome.word());
        (name.to_owned(), Standing { state, last, stuck: ledger.open.contains_key(name) })
    };
    let refused = |error: &LoadError| {
        let name = error.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        one(&name, format!("refused: {}", shown::text(&error.why)))
    };
    let jobs = world.found.jobs.iter().map(|job| one(&job.name, world.state(job).word().to_owned()));
    Ok(jobs.chain(world.found.errors.iter().map(refused)).collect())
}

impl World {
    pub(super) fn job(&self, name: &str) -> Result<&Arc<Job>, Failure> {
        if let Some(job) = self.found.jobs.iter().find(|job| &*job.name == name) {
            return Ok(job);
        }
        if let Some(error) = self.found.errors.iter().find(|error| error.path.file_stem().is_some_and(|stem| stem == name)) {
            return Err(Failure::new("job", format!("failed to read the job {}: {}", shown::text(name), shown::text(&error.why)))
                .at(&error.path, error.line));
        }
        let near = near::nearest(name, self.found.jobs.iter().map(|job| &*job.name));
        let failure = Failure::new("job", format!("no job is called `{}`", shown::text(name)));
        Err(failure.hint(near.map_or_else(|| "loci jobs".to_owned(), |near| format!("loci jobs show {near}"))))
    }

    /// The loop that a name means: `loop:NAME`, or plain NAME where no job has it.
    pub(super) fn looped(&self, name: &str) -> Result<Option<Loop>, Failure> {
        match name.strip_prefix(loops::PREFIX) {
            Some(name) => loop_verbs::named(&self.root, name).map(Some),
            None if self.found.jobs.iter().any(|job| &*job.name == name) => Ok(None),
            None if loop_verbs::file(&self.root, name).is_some() => loop_verbs::named(&self.root, name).map(Some),
            None => Ok(None),
        }
    }

    /// The line that grants something of a name.
    pub(super) fn line(&self, kind: &str, name: &str, hash: String, body: Option<Value>) -> Result<Value, Failure> {
        let salt = random::hex20().map_err(|error| Failure::new("io", "failed to get a random id").caused_by(&error))?;
        let mut more = vec![("job", Value::from(name)), ("hash", hash.into())];
        more.extend(body.map(|body| ("body", body)));
        Ok(trust::line(kind, &self.root.dir, &more, time::now(), &salt).1)
    }

    pub(super) fn state(&self, job: &Job) -> Why {
        if !self.trust.enrolled || !self.trust.is_accepted(job, &self.root.dir) {
            Why::NotAccepted
        } else if job.calls_model && !self.trust.is_armed(job, &self.root.dir) {
            Why::Dormant
        } else {
            Why::Live
        }
    }

    /// When it is due next, by what the clock knows of it; without a clock, from now on.
    pub(super) fn next(&self, job: &Job) -> Option<time::Timestamp> {
        let now = time::now();
        let known = self.records.get(&*job.name).filter(|record| record.when == job.schedule && record.seen.is_some());
        match known {
            Some(record) => decide::next(&job.when, record, None),
            None => match &job.when {
                When::Every(_) => Some(now),
                when => when.next(now, None),
            },
        }
    }

    pub(super) fn next_word(&self, job: &Job) -> String {
        match self.next(job) {
            Some(next) => time::to_second(next),
            None if job.when == When::Mail => "with mail".to_owned(),
            None => "never".to_owned(),
        }
    }

    pub(super) fn object(&self, job: &Job) -> Value {
        let record = self.records.get(&*job.name);
        json!({
            "name": &*job.name, "state": self.state(job).word(), "next": self.next(job).map(|next| next.to_string()),
            "calls_model": job.calls_model, "record": record,
        })
    }
}
