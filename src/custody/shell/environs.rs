//! Variables that carry options, files and programs to the programs that they are set for, as data. Only what the command itself
//! sets is looked at: what was there before it is no part of it.

use super::engine::Engine;
use super::state::Shell;

/// What a variable means to its programs.
enum Means {
    /// Options, in front of the program's own.
    Options,
    /// A path, with what happens to it; only where the other variable is set as well, if one is named.
    Path(char, &'static str),
    /// The text of a shell command.
    Script,
    /// Code or settings that can do anything.
    Anything,
}

/// Variables, programs (`*` for all), and what the variables mean to them.
const ROWS: &[(&str, &str, Means)] = &[
    ("TAR_OPTIONS", "tar gtar", Means::Options),
    ("UNZIP UNZIPOPT", "unzip", Means::Options),
    ("ZIP ZIPOPT", "zip", Means::Options),
    ("GZIP", "gzip pigz gunzip", Means::Options),
    ("BZIP BZIP2", "bzip2 bunzip2", Means::Options),
    ("XZ_DEFAULTS XZ_OPT", "xz unxz", Means::Options),
    ("LESS", "less", Means::Options),
    ("LESSCLOSE", "less", Means::Script),
    ("LD_DEBUG_OUTPUT", "*", Means::Path('P', "LD_DEBUG")),
    ("LD_PROFILE_OUTPUT", "*", Means::Path('d', "LD_PROFILE")),
    ("LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH GCONV_PATH", "*", Means::Anything),
    ("DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES", "cc gcc g++ c++ cpp", Means::Path('W', "")),
    ("GCC_EXEC_PREFIX COMPILER_PATH", "cc gcc g++ c++ cpp clang clang++", Means::Anything),
    ("PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE", "python python2 python3", Means::Anything),
    ("PERLLIB PERL5DB", "perl", Means::Anything),
    ("NODE_PATH", "node nodejs", Means::Anything),
    ("JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS", "java javac jar", Means::Anything),
    ("VIMINIT EXINIT", "vim vi ex view nvim", Means::Anything),
    ("CURL_HOME", "curl", Means::Anything),
    ("WGETRC SYSTEM_WGETRC", "wget", Means::Anything),
    ("SSH_ASKPASS", "ssh scp sftp ssh-add", Means::Script),
    ("RSYNC_CONNECT_PROG", "rsync", Means::Script),
    ("GIT_EXEC_PATH", "git", Means::Anything),
    ("PSQLRC", "psql", Means::Anything),
    ("R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER", "R Rscript", Means::Anything),
];

impl Engine<'_> {
    /// What variables of the command mean to a program; its words with those that they add, where they add any.
    pub(super) fn environs(&mut self, sh: &mut Shell, base: &str, argv: &[String]) -> Option<Vec<String>> {
        if sh.vars.is_empty() {
            return None;
        }
        let mut added: Vec<String> = Vec::new();
        for (names, programs, means) in ROWS {
            if *programs != "*" && !programs.split(' ').any(|program| program == base) {
                continue;
            }
            for name in names.split(' ') {
                let set = |name: &str| sh.vars.get(name).is_some_and(|var| var.exported);
                let Some(value) = set(name).then(|| self.var(sh, name)).flatten().filter(|value| !value.is_empty()) else { continue };
                let by = std::mem::replace(&mut self.by, name.to_owned());
                match means {
                    Means::Options => added.extend(split(&value)),
                    Means::Path(_, with) if !with.is_empty() && !set(with) => {}
                    Means::Path(effect, _) => {
                        let path = value.split(' ').next().unwrap_or(&value).to_owned();
                        self.effect(sh, *effect, &path, false);
                    }
                    Means::Script => self.effect(sh, 'Y', &value, false),
                    Means::Anything => self.unknown("a variable that brings code or settings to a program", name),
                }
                self.by = by;
            }
        }
        if added.is_empty() {
            return None;
        }
        let mut all = argv.to_vec();
        // the first word of `tar` may be its letters, and its operands follow them
        let letters = base.ends_with("tar") && argv.get(1).is_some_and(|word| !word.starts_with('-'));
        let at = if letters { all.len() } else { 1 };
        all.splice(at..at, added);
        Some(all)
    }
}

/// Words of such a variable: a backslash takes what follows as it is, quotes hold words together.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (None::<String>, None);
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        match (ch, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (ch, Some(open)) if ch == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(ch);
                word.get_or_insert_default();
            }
            (' ' | '\t' | '\n', None) => words.extend(word.take()),
            (ch, _) => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quotes_and_backslashes_hold_words_together() {
        assert_eq!(split(r#"-a  --x=touch\ f "b c" 'd "e'"#), ["-a", "--x=touch f", "b c", "d \"e"]);
    }
}
