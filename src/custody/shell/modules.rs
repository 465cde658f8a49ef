//! What an interpreter loads beside its program: modules that lie where it looks for them, and what its own variables add.

use super::engine::{Engine, Shell, UNK};
use super::inline::Found;
use super::picture::{join, split};
use super::scan::{Lang, Tok};
use super::{Kind, words};

impl Engine<'_> {
    /// The words of an interpreter's call, with those that its variables put in front, and what these variables make it write.
    /// Only what the command itself sets is looked at.
    pub(super) fn given_options(&mut self, sh: &mut Shell, lang: Lang, argv: &[String]) -> Vec<String> {
        let set = |e: &mut Self, sh: &Shell, name: &str| {
            let own = sh.vars.get(name).is_some_and(|var| var.exported);
            own.then(|| e.var(sh, name)).flatten().filter(|value| !value.is_empty())
        };
        let (options, files): (&str, &[(&str, char)]) = match lang {
            Lang::Node => ("NODE_OPTIONS", &[("NODE_V8_COVERAGE", 'd'), ("NODE_REDIRECT_WARNINGS", 'W')]),
            Lang::Perl => ("PERL5OPT", &[]),
            Lang::Ruby => ("RUBYOPT", &[]),
            // whatever is loaded is kept there, and something always is
            Lang::Python => ("", &[("PYTHONPYCACHEPREFIX", 'd')]),
            Lang::Php => ("", &[]),
        };
        for (name, effect) in files {
            if let Some(path) = set(self, sh, name) {
                self.effect(sh, *effect, &path, false);
            }
        }
        let mut all = argv.to_vec();
        if let Some(more) = set(self, sh, options) {
            let more = more.split_ascii_whitespace().map(|word| words::parts(word)).map(|parts| self.text(sh, &parts));
            let more: Vec<String> = more.collect();
            all.splice(1..1, more);
        }
        all
    }

    /// Where an interpreter looks for modules, apart from its own ones.
    pub(super) fn module_dirs(&mut self, sh: &Shell, lang: Lang, script: Option<&String>) -> Vec<String> {
        let mut dirs = Vec::new();
        let variable = match lang {
            Lang::Python => {
                dirs.push(script.map_or_else(|| ".".to_owned(), |file| split(file).0.to_owned()));
                "PYTHONPATH"
            }
            Lang::Perl => "PERL5LIB",
            Lang::Ruby => "RUBYLIB",
            Lang::Node | Lang::Php => return dirs,
        };
        let path = self.var(sh, variable).unwrap_or_default();
        dirs.extend(path.split(':').filter(|dir| !dir.is_empty()).map(str::to_owned));
        dirs
    }
}

impl Found<'_, '_> {
    /// A module is loaded. One that lies where the command can have put it is read: what it does when it is loaded.
    pub(super) fn load(&mut self, module: &str) {
        if module.contains(UNK) {
            self.e.unknown("a module is not known", module);
            return;
        }
        let lang = self.lang();
        let names: Vec<String> = match lang {
            Lang::Python => {
                let path = module.replace('.', "/");
                vec![format!("{path}.py"), format!("{path}/__init__.py")]
            }
            Lang::Perl => {
                let bare = module.split('=').next().unwrap_or(module).trim_start_matches('-');
                vec![format!("{}.pm", bare.replace("::", "/"))]
            }
            Lang::Ruby | Lang::Node | Lang::Php => {
                if module.contains('/') {
                    self.file(module);
                    return;
                }
                vec![format!("{module}.rb")]
            }
        };
        let sh = self.sh.clone();
        for dir in self.dirs.clone() {
            for name in &names {
                let file = join(&dir, name);
                if self.e.what(&sh, &file) != Some(Kind::File) || !self.modules.insert(file.clone()) {
                    continue;
                }
                self.modules.insert(module.split('.').next().unwrap_or(module).to_owned());
                let text = self.e.content(&sh, &file);
                self.program(&if lang == Lang::Python { at_once(&text) } else { text });
                return;
            }
        }
    }

    /// Directories that a Python program adds by itself, in plain words.
    pub(super) fn more_dirs(&mut self, t: &[Tok]) {
        for (i, w) in t.windows(3).enumerate() {
            let [Tok::Name(sys), Tok::Op(dot), Tok::Name(path)] = w else { continue };
            if (sys.as_str(), dot.as_str(), path.as_str()) != ("sys", ".", "path") {
                continue;
            }
            for tok in t[i + 3..].iter().take(8).take_while(|tok| !matches!(tok, Tok::Line)) {
                if let Tok::Str(pieces) = tok
                    && let [super::scan::Piece::Text(dir)] = pieces.as_slice()
                {
                    self.dirs.push(dir.clone());
                }
            }
        }
    }
}

/// What a Python module does when it is loaded: all but the bodies of its functions.
fn at_once(text: &str) -> String {
    let mut out = String::new();
    let mut inside: Option<usize> = None;
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        if line.trim().is_empty() || inside.is_some_and(|def| depth > def) {
            continue;
        }
        inside = None;
        if line.trim_start().starts_with("def ") || line.trim_start().starts_with("async def ") {
            inside = Some(depth);
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
