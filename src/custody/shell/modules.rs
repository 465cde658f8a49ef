//! What an interpreter loads beside its program: modules that lie where it looks for them, and what its own variables add.

use super::engine::{Engine, UNK};
use super::found::Found;
use super::lex::{Lang, Tok};
use super::picture::{join, split};
use super::state::Shell;
use super::writers::CALLS;
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
            let more = more.split_ascii_whitespace().map(words::parts).map(|parts| self.text(sh, &parts));
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
    /// `import a as b`, `from a import b as c`
    pub(super) fn imports(&mut self, t: &[Tok]) {
        if self.lang == Lang::Node {
            self.node_imports(t);
        }
        if self.lang != Lang::Python {
            return;
        }
        self.more_dirs(t);
        let name = |k: usize| if let Some(Tok::Name(n)) = t.get(k) { Some(n.as_str()) } else { None };
        for i in 0..t.len() {
            let module = |from: usize| {
                let mut m = String::new();
                let mut k = from;
                while let Some(n) = name(k) {
                    m.push_str(n);
                    if matches!(t.get(k + 1), Some(Tok::Op(o)) if o == ".") {
                        m.push('.');
                        k += 2;
                    } else {
                        k += 1;
                        break;
                    }
                }
                (m, k)
            };
            match name(i) {
                Some("from") => {
                    let (m, k) = module(i + 1);
                    if name(k) != Some("import") {
                        continue;
                    }
                    self.load(&m);
                    let mut k = k + 1;
                    while k < t.len() {
                        match &t[k] {
                            Tok::Name(n) if name(k + 1) == Some("as") => {
                                if let Some(a) = name(k + 2) {
                                    self.aliases.insert(a.to_owned(), format!("{m}.{n}"));
                                }
                                k += 3;
                            }
                            Tok::Name(n) => {
                                if n != "Path" && n != "open" {
                                    self.aliases.insert(n.clone(), format!("{m}.{n}"));
                                }
                                k += 1;
                            }
                            Tok::Op(o) if o == "*" => {
                                for (_, names, _) in CALLS.iter().filter(|c| c.0 == "python") {
                                    for n in names.split_ascii_whitespace() {
                                        if let Some(f) = n.strip_prefix(&format!("{m}.")) {
                                            self.aliases.insert(f.to_owned(), n.to_owned());
                                        }
                                    }
                                }
                                k += 1;
                            }
                            Tok::Op(o) if o == "," || o == "(" => k += 1,
                            _ => break,
                        }
                    }
                }
                Some("import") if i == 0 || name(i.wrapping_sub(1)).is_none() => {
                    let (m, mut k) = module(i + 1);
                    self.load(&m);
                    if name(k) == Some("as")
                        && let Some(a) = name(k + 1)
                    {
                        self.aliases.insert(a.to_owned(), m);
                    }
                    // `import a, b`
                    while matches!(t.get(k), Some(Tok::Op(o)) if o == ",") {
                        let (m, next) = module(k + 1);
                        self.load(&m);
                        k = next.max(k + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// What Python loads before any program, from the directories that a variable names.
    pub(super) fn site(&mut self) {
        let sh = self.sh.clone();
        let Some(path) = self.e.var(&sh, "PYTHONPATH").filter(|path| !path.is_empty()) else { return };
        let dirs = path.split(':').map(|dir| if dir.is_empty() { "." } else { dir }.to_owned()).collect();
        let dirs = std::mem::replace(&mut self.dirs, dirs);
        self.load("sitecustomize");
        self.load("usercustomize");
        self.dirs = dirs;
    }

    /// `import d, {a as b} from 'm'`, `import * as n from 'm'`: other names of what a module of Node's own has.
    fn node_imports(&mut self, t: &[Tok]) {
        let name = |k: usize| if let Some(Tok::Name(n)) = t.get(k) { Some(n.as_str()) } else { None };
        let is = |k: usize, o: &str| matches!(t.get(k), Some(Tok::Op(x)) if x == o);
        for i in (0..t.len()).filter(|i| name(*i) == Some("import")) {
            let text = |k: usize| match t.get(k) {
                Some(Tok::Str(pieces)) => match pieces.as_slice() {
                    [super::lex::Piece::Text(text)] => Some(text.clone()),
                    _ => None,
                },
                _ => None,
            };
            if let Some(module) = text(i + 1).filter(|module| module.starts_with(['.', '/'])) {
                self.load(&module);
                continue;
            }
            let Some(from) = (i + 1..t.len().min(i + 200)).find(|k| name(*k) == Some("from") && text(k + 1).is_some()) else { continue };
            let Some(module) = text(from + 1) else { continue };
            if module.starts_with(['.', '/']) {
                self.load(&module);
                continue;
            }
            let module = module.trim_start_matches("node:").split('/').next().unwrap_or_default().to_owned();
            let mut k = i + 1;
            let mut inside = false;
            while k < from {
                inside = (inside || is(k, "{")) && !is(k, "}");
                let alias = if name(k + 1) == Some("as") { name(k + 2) } else { None };
                match (name(k), alias) {
                    (Some(what), Some(alias)) => {
                        let real = if what == "default" { module.clone() } else { format!("{module}.{what}") };
                        self.aliases.insert(alias.to_owned(), real);
                        k += 2;
                    }
                    (Some(what), None) => {
                        let real = if inside { format!("{module}.{what}") } else { module.clone() };
                        self.aliases.insert(what.to_owned(), real);
                    }
                    (None, Some(alias)) if is(k, "*") => {
                        self.aliases.insert(alias.to_owned(), module.clone());
                        k += 2;
                    }
                    _ => {}
                }
                k += 1;
            }
        }
    }

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
                    && let [super::lex::Piece::Text(dir)] = pieces.as_slice()
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
