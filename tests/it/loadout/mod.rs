//! What is worn: the verbs, what survives a kill, the properties, the hash.

mod archives;
mod faults;
mod hash;
mod props;
mod verbs;

use crate::sandbox::Sandbox;

/// A level with something in every section, and two sets.
pub(crate) fn level() -> Sandbox {
    in_every_section(Sandbox::new())
}

/// The same in a world of one's own.
pub(crate) fn in_every_section(world: Sandbox) -> Sandbox {
    world
        .file("r/.loci/skills/k/SKILL.md", "skill k")
        .file("r/.loci/skills/m/SKILL.md.inactive", "skill m")
        .file("r/.loci/rules/a.md", "rule a")
        .file("r/.loci/rules/team/b.md.inactive", "rule b")
        .file("r/.loci/agents/x.md", "agent x")
        .file("r/.loci/sets/s.yaml", "skills: {k: off, m: on}\nrules: {a: off, team/b.md: on}\nagents: {x: off}\n")
        .file("r/.loci/sets/t.json", "{\"rules\": {\"a.md\": true, \"nope\": false}}");
    world
}
