//! What stands in the files of bodies and comes to nothing, without a word: a runtime that there is not, an owner
//! that nobody is, instructions that a harness does not read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::body::portrait;
use crate::body::sockets::{self, SocketError};
use crate::cli::context::Context;
use crate::cli::near::{self, word};
use crate::custody::find;
use crate::sys::{disk, shown};
use crate::text::header;
use crate::text::near::nearest;
use crate::tree::card::{self, AgentFile, OwnerFile};
use crate::tree::doctor::Finding;

/// Looks through places; `home` is the home level, real.
pub(super) fn of(context: &Context, places: &[PathBuf], home: &Path) -> Vec<Finding> {
    let cards: Vec<(&PathBuf, AgentFile)> = places.iter().filter_map(|dir| Some((dir, card::agent(dir)?.ok()?))).collect();
    let mut findings: Vec<Finding> = cards.iter().filter_map(|(_, card)| runtime(context, card)).collect();
    findings.extend(cards.iter().flat_map(|(dir, _)| unread(dir)));
    if places.iter().any(|dir| dir == home) {
        let names = sockets::names(&context.home).unwrap_or_default();
        findings.extend(names.iter().filter_map(|name| broken(sockets::find(name, &context.home).err()?)));
    }
    let ids: BTreeSet<&str> = cards.iter().map(|(_, card)| card.id.value.as_str()).collect();
    findings.extend(places.iter().filter_map(|dir| nobody(context, dir, &card::owner(dir)?.ok()?, &ids)));
    findings
}

/// A runtime that an identity file names and that can't be used.
fn runtime(context: &Context, card: &AgentFile) -> Option<Finding> {
    let name = card.runtime.as_deref()?;
    match sockets::find(name, &context.home).err()? {
        SocketError::Unknown { near, .. } => {
            let data = disk::read_bounded(&card.path, card::MAX_BYTES).ok().flatten().unwrap_or_default();
            let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Some(Finding {
                path: card.path.clone(),
                line: header::parse(&data).line("runtime"),
                code: "runtime-unknown",
                text: format!("names the runtime `{name}`, and there is none of that name{meant}"),
                fix: format!(
                    "name one that there is, or write {}",
                    shown::path(&sockets::folder(&context.home).join(format!("{name}.md")))
                ),
            })
        }
        other => broken(other),
    }
}

/// The file of a socket that says what can't be.
fn broken(error: SocketError) -> Option<Finding> {
    let SocketError::Unfit { path, line, why } = error else { return None };
    let fix = "correct the line".to_owned();
    Some(Finding { path, line, code: "runtime-broken", text: format!("can't be used: {why}"), fix })
}

/// Instruction files of harnesses which read those alone, and nothing of `AGENTS.md` with them.
fn unread(dir: &Path) -> Vec<Finding> {
    let one = |name: &str| {
        let socket = sockets::find(name, Path::new("/")).ok()?;
        let path = portrait::without_instructions(dir, &socket)?;
        let text = format!("does not import AGENTS.md, and {name} reads nothing of that");
        Some(Finding { path, line: None, code: "import-missing", text, fix: "add the line @AGENTS.md".to_owned() })
    };
    sockets::built_in().filter_map(one).collect()
}

/// An owner file without a body whose owner is known nowhere in or around here. One that pins a body is looked at by
/// the sweep.
fn nobody(context: &Context, dir: &Path, owner: &OwnerFile, ids: &BTreeSet<&str>) -> Option<Finding> {
    let id = &owner.owner.value;
    if owner.body.is_some() || ids.contains(id.as_str()) || find::body_of(id, dir).is_some() {
        return None;
    }
    let around = near::places(context, dir);
    if around.iter().any(|place| find::lives(id, place)) {
        return None;
    }
    let living = around.iter().filter_map(|place| Some(find::identity(place)?.ok()?.id.to_string()));
    let known: Vec<String> = living.chain(ids.iter().map(|id| (*id).to_owned())).collect();
    let names = || known.iter().map(String::as_str);
    let fix = nearest(id.as_str(), names())
        .map_or_else(|| format!("loci new agents/{id}"), |meant| format!("loci disown {0} && loci own {0} --as {meant}", word(dir)));
    let meant = near::meant(id.as_str(), names());
    let text = format!("there is no agent {id} in or around here: only a person may write there, and messages wait{meant}");
    Some(Finding { path: owner.path.clone(), line: owner.owner.line, code: "owner-unknown", text, fix })
}
