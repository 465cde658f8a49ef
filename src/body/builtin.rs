//! The templates that are part of the program. Their sources lie in `templates/`; a test holds that
//! folder and list agree.

/// A template in the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its files: path as stored, content.
    pub files: &'static [(&'static str, &'static [u8])],
}

macro_rules! builtin {
    ($name:literal: $($rel:literal),+ $(,)?) => {
        Builtin {
            name: $name,
            files: &[$(($rel, include_bytes!(concat!("../../templates/", $name, "/", $rel)))),+],
        }
    };
}

/// All of them, by name.
pub const ALL: &[Builtin] = &[
    builtin!("agent": "AGENTS.md", "README.md", "_loci/agent.md", "template.md"),
    builtin!("builder": "AGENTS.md", "README.md", "_loci/agent.md", "_loci/owner.md", "_loci/skills/report/SKILL.md", "reports/.gitkeep", "template.md"),
    builtin!("custodian": "AGENTS.md", "README.md", "_loci/agent.md", "_loci/owner.md", "_loci/skills/inbox/SKILL.md", "template.md"),
    builtin!("reviewer": "AGENTS.md", "README.md", "_loci/agent.md", "_loci/rules/reports-only.md", "_loci/skills/review/SKILL.md", "reports/.gitkeep", "template.md"),
    builtin!("watcher": "AGENTS.md", "README.md", "_loci-clock/heartbeat.md", "_loci-clock/jobs/look.md", "_loci/agent.md", "_loci/skills/look/SKILL.md", "reports/.gitkeep", "scripts/look.sh", "scripts/target", "template.md"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn folder_and_list_agree() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        let mut there: Vec<String> = walkdir::WalkDir::new(&folder)
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| !entry.file_type().is_dir())
            .map(|entry| entry.path().strip_prefix(&folder).unwrap().to_str().unwrap().to_owned())
            .collect();
        there.sort();
        let mut listed: Vec<String> = ALL.iter().flat_map(|one| one.files.iter().map(|(rel, _)| format!("{}/{rel}", one.name))).collect();
        assert!(ALL.is_sorted_by_key(|one| one.name));
        listed.sort();
        assert_eq!(there, listed);
    }
}
