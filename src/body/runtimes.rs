//! What each harness reads of a directory by itself, as a table. Every row was observed with the
//! real program; what is not listed was seen not to be read.

/// A harness.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    /// The name that loci uses; also that of its program.
    pub name: &'static str,
    /// Instruction files at the top of the directory.
    pub instructions: &'static [&'static str],
    /// Whether only the first of them that is there is read.
    pub first_only: bool,
    /// Whether a line `@FILE` in them brings that file in.
    pub imports: bool,
    /// Folders of rules.
    pub rules: &'static [&'static str],
    /// Folders of skills.
    pub skills: &'static [&'static str],
    /// Folders of sub-agents in Markdown.
    pub agents: &'static [&'static str],
}

impl Runtime {
    /// The folders of one section.
    #[must_use]
    pub fn folders(&self, section: &str) -> &'static [&'static str] {
        match section {
            "rules" => self.rules,
            "skills" => self.skills,
            "agents" => self.agents,
            _ => &[],
        }
    }
}

/// The harnesses whose reading was observed, by name.
pub const ALL: &[Runtime] = &[
    Runtime {
        name: "claude",
        instructions: &["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"],
        first_only: false,
        imports: true,
        rules: &[".claude/rules"],
        skills: &[".claude/skills"],
        agents: &[".claude/agents"],
    },
    Runtime {
        name: "codex",
        instructions: &["AGENTS.md"],
        first_only: false,
        imports: false,
        rules: &[],
        skills: &[".agents/skills", ".codex/skills"],
        agents: &[],
    },
    Runtime {
        name: "copilot",
        instructions: &["AGENTS.md", "CLAUDE.md", "GEMINI.md"],
        first_only: false,
        imports: false,
        rules: &[".claude/rules"],
        skills: &[".claude/skills", ".agents/skills", ".github/skills"],
        agents: &[".claude/agents", ".github/agents"],
    },
    Runtime {
        name: "gemini",
        instructions: &["GEMINI.md"],
        first_only: false,
        imports: true,
        rules: &[],
        skills: &[".agents/skills", ".gemini/skills"],
        agents: &[],
    },
    Runtime {
        name: "opencode",
        instructions: &["AGENTS.md", "CLAUDE.md"],
        first_only: true,
        imports: false,
        rules: &[],
        skills: &[".agents/skills", ".claude/skills", ".opencode/skills"],
        agents: &[".opencode/agent", ".opencode/agents"],
    },
    Runtime {
        name: "pi",
        instructions: &["AGENTS.md", "CLAUDE.md"],
        first_only: true,
        imports: false,
        rules: &[],
        skills: &[".agents/skills", ".pi/skills"],
        agents: &[],
    },
    Runtime {
        name: "qwen",
        instructions: &["AGENTS.md", "QWEN.md"],
        first_only: false,
        imports: false,
        rules: &[".qwen/rules"],
        skills: &[".agents/skills", ".qwen/skills"],
        agents: &[".qwen/agents"],
    },
];

/// Programs that loci looks for, by name: those of the table, and two more that have a hook to ask
/// loci with but read no skills.
pub const PROGRAMS: [&str; 9] = ["claude", "cline", "codex", "copilot", "gemini", "hermes", "opencode", "pi", "qwen"];
