//! Custody from the outside: whose it is, what a refusal becomes, and the verbs around it.

mod apply;
mod asked;
mod delegate;
mod extract;
mod faults;
mod firstday;
mod grants;
mod listing;
mod mail;
mod ownership;
mod retention;
mod said;
mod verbs;
mod wayout;

use std::path::{Path, PathBuf};

use loci::custody::act::{Act, ActKind};
use loci::custody::asker::Asker;
use loci::custody::delegation::{Attempt, Change, Delivery, deliver};
use loci::custody::{Ruling, rule};
use loci::text::name::AgentId;

use crate::cases::filetool::surroundings;
use crate::sandbox::Sandbox;

/// A write that follows a final link.
fn write(path: impl Into<PathBuf>) -> Act {
    Act { kind: ActKind::Write, path: path.into(), follow: true, below: false }
}

/// Another act on the name itself, with all below where it takes that along.
fn on_name(kind: ActKind, path: impl Into<PathBuf>) -> Act {
    Act { kind, path: path.into(), follow: false, below: matches!(kind, ActKind::Remove | ActKind::Rename) }
}

fn agent(id: &str, body: impl Into<PathBuf>) -> Asker {
    Asker { agent: Some(AgentId::new(id).unwrap()), body: Some(body.into()) }
}

/// What is said about one act.
fn said(world: &Sandbox, asker: &Asker, act: Act) -> (loci::custody::Verdict, &'static str) {
    let ruling = rule(&[act], asker, &surroundings(world));
    (ruling.verdict, ruling.acts[0].why.word())
}

/// The ruling on a write and what became of it.
fn attempt(world: &Sandbox, asker: &Asker, path: &Path, text: &str) -> (Ruling, Vec<Delivery>) {
    attempt_at(world, asker, path, text, "2026-11-30T10:00:00Z")
}

fn attempt_at(world: &Sandbox, asker: &Asker, path: &Path, text: &str, at: &str) -> (Ruling, Vec<Delivery>) {
    let ruling = rule(&[write(path)], asker, &surroundings(world));
    let change = Change::Content { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
    let deliveries = deliver_change(world, asker, &ruling, change, at);
    (ruling, deliveries)
}

fn deliver_change(world: &Sandbox, asker: &Asker, ruling: &Ruling, change: Change, at: &str) -> Vec<Delivery> {
    let attempt = Attempt {
        asker,
        harness: "claude",
        session: Some("s-1"),
        sub_agent: None,
        tool: "Write",
        change,
        ruling,
        reads: Vec::new(),
        at: at.parse().unwrap(),
    };
    deliver(&attempt, &surroundings(world))
}
