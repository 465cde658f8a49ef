//! Who a body is: its identity files say what they should, and its id is nobody else's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::template::{Template, TemplateError};
use super::{Node, What, build, layout};
use crate::custody::find;
use crate::sys::disk::{self, Kind, PathError};
use crate::text::Sourced;
use crate::text::name::AgentId;
use crate::tree::card::{self, CardError};
use crate::tree::climb;

/// Looks whether rendered identity files say what they should: the id asked for, and a whole owner
/// file where there is one.
///
/// # Errors
/// With the file of the template and the line.
pub fn check(template: &Template, nodes: &[Node], id: &AgentId) -> Result<(), TemplateError> {
    let find = |rel: &str| nodes.iter().find(|node| node.rel == Path::new(rel)).map(|node| &node.what);
    let unfit = |rel: &str, line: Option<usize>, why: String| TemplateError::Unfit { path: template.path_of(Path::new(rel)), line, why };
    let broken = |rel: &str, error: CardError| unfit(rel, error.line, error.why);
    let closed: BTreeMap<&Path, &str> = nodes
        .iter()
        .filter_map(|node| match node.what {
            What::Dir => None,
            What::Link(_) => Some((node.rel.as_path(), "a link")),
            What::File { .. } => Some((node.rel.as_path(), "a file")),
        })
        .collect();
    for node in nodes {
        let around = climb::up(&node.rel).skip(1).find_map(|dir| Some((dir, *closed.get(dir)?)));
        if let Some((dir, what)) = around {
            let why = format!("it is {what}, and {} is to lie in it: make it a directory", node.rel.display());
            return Err(TemplateError::Unfit { path: template.path_of(dir), line: None, why });
        }
    }
    let Some(What::File { data, .. }) = find(layout::CARD) else {
        return Err(unfit(layout::CARD, None, "its identity file is no file".to_owned()));
    };
    let card = card::parse_agent(Path::new(layout::CARD), data).map_err(|error| broken(layout::CARD, error))?;
    if card.id.value != *id {
        let why = format!("it gives the agent the id {}, not {id}: write `id: {{{{ id }}}}`", card.id.value);
        return Err(unfit(layout::CARD, card.id.line, why));
    }
    match find(layout::OWNER) {
        None => Ok(()),
        Some(What::File { data, .. }) => {
            card::parse_owner(Path::new(layout::OWNER), data).map_err(|error| broken(layout::OWNER, error))?;
            Ok(())
        }
        Some(_) => Err(unfit(layout::OWNER, None, "its owner file is no file".to_owned())),
    }
}

/// The place other than `dir` that has this id already, with the line that says so: looked for from
/// `top` down; where that is `dir` itself, nothing bounds a search, and its neighbours are looked at.
///
/// # Errors
/// Where the neighbours can't be listed.
pub fn bearer(id: &AgentId, dir: &Path, top: &Path) -> Result<Option<(PathBuf, Sourced<AgentId>)>, PathError> {
    let places: Vec<PathBuf> = if top == dir {
        match dir.parent().filter(|parent| disk::is_dir(parent)) {
            Some(parent) => {
                let entries = disk::list(parent)?.into_iter().filter(|entry| entry.kind == Kind::Dir);
                entries.map(|entry| parent.join(entry.name)).collect()
            }
            None => Vec::new(),
        }
    } else {
        find::places_below(top)
    };
    let bears = |place: PathBuf| match card::agent(&place) {
        Some(Ok(card)) if card.id.value == *id => Some((place, card.id)),
        _ => None,
    };
    Ok(places.into_iter().filter(|place| place != dir && !build::is_aside(place)).find_map(bears))
}
