//! The linked loadout: what is equipped lies once, in `.loci`, and the folders that the harnesses
//! read point at it. Pure.

use std::path::{Path, PathBuf};

use super::{Node, What};
use crate::text::name::AgentId;

/// The identity file of a body.
pub const CARD: &str = ".loci/agent.md";

/// The file that makes an agent the owner of the directory.
pub const OWNER: &str = ".loci/owner.md";

/// Folders that harnesses read, and the text of the link that each one is.
pub const LINKS: [(&str, &str); 4] = [
    (".agents/skills", "../.loci/skills"),
    (".claude/agents", "../.loci/agents"),
    (".claude/rules", "../.loci/rules"),
    (".claude/skills", "../.loci/skills"),
];

/// The folders that the links point to.
const FOLDERS: [&str; 3] = [".loci/agents", ".loci/rules", ".loci/skills"];

/// Instruction files of harnesses that do not read `AGENTS.md`; each imports it.
const IMPORTS: [&str; 2] = ["CLAUDE.md", "GEMINI.md"];

/// The line that imports the instructions.
pub const IMPORT: &str = "@AGENTS.md";

/// Completes rendered nodes to a body; what the template brings itself is left as it is. With `copy`
/// the folders of the harnesses hold copies instead of being links.
#[must_use]
pub fn complete(mut nodes: Vec<Node>, id: &AgentId, copy: bool) -> Vec<Node> {
    let add = |nodes: &mut Vec<Node>, node: Node| {
        if !nodes.iter().any(|one| one.rel == node.rel) {
            nodes.push(node);
        }
    };
    add(&mut nodes, Node::file(CARD, &format!("---\nid: {id}\n---\n")));
    // The episodic memory does not travel.
    add(&mut nodes, Node::file(".loci/.gitignore", "memory/\n"));
    if nodes.iter().any(|node| node.rel == Path::new("AGENTS.md")) {
        for name in IMPORTS {
            add(&mut nodes, Node::file(name, &format!("{IMPORT}\n")));
        }
    }
    for folder in FOLDERS {
        let inside = |node: &Node| node.rel != Path::new(folder) && node.rel.starts_with(folder);
        if !nodes.iter().any(|node| inside(node) || is_link(node, folder)) {
            // Git keeps no empty directory, and a link to one that is gone dangles.
            add(&mut nodes, Node::file(&format!("{folder}/.gitkeep"), ""));
        }
    }
    for (link, text) in LINKS {
        // A template that has the folder for real means it.
        if nodes.iter().any(|node| node.rel.starts_with(link)) && !(copy && nodes.iter().any(|node| is_link(node, link))) {
            continue;
        }
        if copy {
            nodes.retain(|node| !is_link(node, link));
            let from = Path::new(text.trim_start_matches("../"));
            let copies: Vec<Node> = nodes
                .iter()
                .filter_map(|node| Some(Node { rel: Path::new(link).join(node.rel.strip_prefix(from).ok()?), what: node.what.clone() }))
                .filter(|node| node.rel != Path::new(link))
                .collect();
            nodes.extend(copies);
        } else {
            nodes.push(Node { rel: link.into(), what: What::Link(text.into()) });
        }
    }
    with_parents(nodes)
}

fn is_link(node: &Node, at: &str) -> bool {
    node.rel == Path::new(at) && matches!(node.what, What::Link(_))
}

/// Adds the directories that nodes lie in, and sorts: a directory comes before what is in it.
fn with_parents(nodes: Vec<Node>) -> Vec<Node> {
    let mut all: std::collections::BTreeMap<PathBuf, What> = nodes.into_iter().map(|node| (node.rel, node.what)).collect();
    let mut missing: Vec<PathBuf> = Vec::new();
    for rel in all.keys() {
        let mut dir = PathBuf::new();
        for part in rel.parent().map(Path::components).into_iter().flatten() {
            dir.push(part);
            if !all.contains_key(&dir) {
                missing.push(dir.clone());
            }
        }
    }
    all.extend(missing.into_iter().map(|dir| (dir, What::Dir)));
    all.into_iter().map(|(rel, what)| Node { rel, what }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rels(nodes: &[Node]) -> Vec<String> {
        nodes.iter().map(|node| node.rel.display().to_string()).collect()
    }

    #[test]
    fn an_empty_template_becomes_a_body() {
        let nodes = complete(vec![Node::file("AGENTS.md", "x")], &AgentId::new("a").unwrap(), false);
        assert_eq!(
            rels(&nodes),
            [
                ".agents",
                ".agents/skills",
                ".claude",
                ".claude/agents",
                ".claude/rules",
                ".claude/skills",
                ".loci",
                ".loci/.gitignore",
                ".loci/agent.md",
                ".loci/agents",
                ".loci/agents/.gitkeep",
                ".loci/rules",
                ".loci/rules/.gitkeep",
                ".loci/skills",
                ".loci/skills/.gitkeep",
                "AGENTS.md",
                "CLAUDE.md",
                "GEMINI.md"
            ]
        );
    }

    #[test]
    fn what_the_template_brings_stays() {
        let own = vec![Node::file(".claude/skills/a/SKILL.md", "real"), Node::file("CLAUDE.md", "own"), Node::file("AGENTS.md", "")];
        let nodes = complete(own.clone(), &AgentId::new("a").unwrap(), false);
        assert!(own.iter().all(|node| nodes.contains(node)));
        assert!(!nodes.iter().any(|node| node.rel == Path::new(".claude/skills") && node.what != What::Dir));
    }

    #[test]
    fn copies_stand_where_links_would() {
        let own = vec![
            Node::file(".loci/skills/a/SKILL.md", "x"),
            Node { rel: ".claude/skills".into(), what: What::Link("../.loci/skills".into()) },
        ];
        let nodes = complete(own, &AgentId::new("a").unwrap(), true);
        assert!(nodes.iter().all(|node| !matches!(node.what, What::Link(_))));
        for rel in [".claude/skills/a/SKILL.md", ".agents/skills/a/SKILL.md"] {
            assert!(nodes.contains(&Node::file(rel, "x")), "{rel}");
        }
    }
}
