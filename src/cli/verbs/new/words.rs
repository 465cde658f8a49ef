//! What `loci new` says it made.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::body::build::Kept;
use crate::body::template::Template;
use crate::body::{Node, What};
use crate::cli::context::Context;
use crate::sys::shown;
use crate::text::name::AgentId;

/// What was made, or would be.
pub(super) struct Made {
    /// Files and links, with the text of a link.
    pub(super) paths: Vec<(PathBuf, Option<PathBuf>)>,
    pub(super) kept: Vec<Kept>,
}

/// Files and links, with the text of a link.
pub(super) fn shown_nodes(dir: &Path, nodes: &[Node]) -> Vec<(PathBuf, Option<PathBuf>)> {
    let target = |node: &Node| if let What::Link(text) = &node.what { Some(text.clone()) } else { None };
    nodes.iter().filter(|node| node.what != What::Dir).map(|node| (dir.join(&node.rel), target(node))).collect()
}

pub(super) fn words(context: &Context, dir: &Path, id: &AgentId, template: &Template, made: &Made, dry_run: bool) -> String {
    let inside = |path: &Path| shown::path(path.strip_prefix(dir).unwrap_or(path)).to_string();
    let verb = if dry_run { "would become" } else { "is" };
    let mut text =
        format!("{} {verb} the agent {id} (template {}, {})\n", context.shown(dir), shown::text(&template.name), template.origin.word());
    for (path, target) in &made.paths {
        let target = target.as_ref().map(|target| format!(" -> {}", shown::path(target))).unwrap_or_default();
        text.push_str(&format!("  + {}{target}\n", inside(path)));
    }
    for kept in &made.kept {
        let note = kept.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        text.push_str(&format!("  = {}{note}\n", inside(&kept.path)));
    }
    text
}

pub(super) fn object(dir: &Path, id: &AgentId, template: &Template, made: &Made, dry_run: bool) -> Value {
    let made_list: Vec<Value> = made
        .paths
        .iter()
        .map(|(path, target)| json!({ "path": path.to_string_lossy(), "link": target.as_ref().map(|target| target.to_string_lossy()) }))
        .collect();
    let kept: Vec<Value> = made.kept.iter().map(|kept| json!({ "path": kept.path.to_string_lossy(), "note": kept.note })).collect();
    json!({
        "schema": 1, "dir": dir.to_string_lossy(), "id": id,
        "template": { "name": template.name, "origin": template.origin.word(), "path": template.origin.dir().map(Path::to_string_lossy) },
        "dry_run": dry_run, "made": made_list, "kept": kept,
    })
}
