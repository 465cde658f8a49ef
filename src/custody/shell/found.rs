//! What a program in another language does: its calls become acts.

use super::Kind;
use super::engine::{Engine, UNK};
use super::lex::{Lang, Tok, lex};
use super::picture::join;
use super::reach::unnamed;
use super::scan::{Host, Val, Walk};
use super::state::Shell;
use std::collections::{HashMap, HashSet};

pub(super) struct Found<'e, 'a> {
    pub(super) e: &'e mut Engine<'a>,
    pub(super) sh: Shell,
    pub(super) lang: Lang,
    pub(super) args: Vec<String>,
    pub(super) stdin: Option<String>,
    pub(super) aliases: HashMap<String, String>,
    /// What the program prints, where printing it is all it does.
    pub(super) printed: Option<String>,
    /// It is run for each line of its input (`-n`, `-p`).
    pub(super) by_line: bool,
    /// Ruby: `include FileUtils`.
    pub(super) file_utils: bool,
    /// Where modules are looked for.
    pub(super) dirs: Vec<String>,
    /// Modules that were read, which lie there.
    pub(super) modules: HashSet<String>,
}

/// Where the one thing begins that a Python program prints, when printing it is all it does: imports, names, and a last
/// statement `print(…)`.
pub(super) fn only_print(t: &[Tok], lang: Lang) -> Option<usize> {
    if lang != Lang::Python {
        return None;
    }
    let is = |tok: &Tok, names: &[&str]| matches!(tok, Tok::Name(n) if names.contains(&n.as_str()));
    let end = t.iter().rposition(|tok| !matches!(tok, Tok::Line))?;
    let at = t.iter().position(|tok| is(tok, &["print"]))?;
    let open = matches!(t.get(at + 1), Some(Tok::Op(o)) if o == "(") && matches!(&t[end], Tok::Op(o) if o == ")");
    let plain = !t.iter().any(|tok| is(tok, &["if", "for", "while", "def", "class", "try", "with", "lambda", "exec", "eval", "sys"]));
    let once = t.iter().filter(|tok| is(tok, &["print"])).count() == 1;
    (open && plain && once && end + 1 == t.len()).then_some(at + 2)
}

impl Found<'_, '_> {
    pub(super) fn file(&mut self, m: &str) {
        let sh = self.sh.clone();
        let names = [m.to_owned(), format!("{m}.js"), format!("{m}.rb"), format!("{m}/index.js")];
        for n in names {
            if self.e.what(&sh, &n) == Some(Kind::File) {
                let t = self.e.content(&sh, &n);
                self.program(&t);
                return;
            }
        }
    }

    /// Looks over a whole program, twice: the second time the parameters of its functions hold what they are called with.
    pub(super) fn program(&mut self, text: &str) {
        if self.e.depth > 12 || !self.e.spend(text.len() * 30) {
            self.e.unknown("nested too deep", "");
            return;
        }
        if text.contains(UNK) {
            self.e.unknown("part of a program is not known", "");
        }
        self.e.depth += 1;
        let toks = lex(text, self.lang);
        self.imports(&toks);
        if let Some(name) = unnamed(text, &toks, self.lang) {
            self.e.unknown("a call of what is not known by name", &name);
        }
        self.file_utils |= self.lang == Lang::Ruby
            && toks.windows(2).any(|w| matches!(w, [Tok::Name(a), Tok::Name(b)] if a == "include" && b == "FileUtils"));
        let lang = self.lang;
        let cwd = self.sh.cwd.clone();
        let mut vars = HashMap::new();
        if self.by_line {
            let text = self.name("<>").unwrap_or_default();
            let lines: Vec<String> = text.any.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
            if lines.len() > 400 {
                self.e.unknown("too many lines", "");
            }
            vars.insert("_".to_owned(), Val { any: lines.into_iter().take(400).collect(), ..Val::default() });
        }
        let mut w = Walk { lang, vars, defs: HashMap::new(), host: self, fuel: 40_000, assigned: HashSet::new(), renames: HashMap::new() };
        w.program(&toks);
        let printed = only_print(&toks, lang).and_then(|from| {
            let (v, next) = w.expr(&toks, from, 0);
            (toks.len() - next <= 1 && !v.list && v.any.len() == 1).then(|| v.any[0].clone())
        });
        let again = w.defs.values().any(|p| !p.is_empty()) || w.vars.contains_key("_");
        let (vars, defs) = (std::mem::take(&mut w.vars), std::mem::take(&mut w.defs));
        if again {
            let params: HashSet<String> = defs.values().flatten().cloned().chain(["_".to_owned()]).collect();
            let vars = vars.into_iter().filter(|(k, _)| params.contains(k)).collect();
            self.sh.cwd = cwd;
            let mut w = Walk { lang, vars, defs, host: self, fuel: 40_000, assigned: params, renames: HashMap::new() };
            w.program(&toks);
        }
        self.printed = printed;
        self.e.depth -= 1;
    }

    pub(super) fn effect(&mut self, e: char, v: &Val) {
        for p in v.texts() {
            let mut sh = self.sh.clone();
            match e {
                'A' => self.e.take_out(&mut sh, &p, "."),
                'F' => {
                    self.e.act(&sh, super::super::act::ActKind::Rename, &p, false, self.e.what(&sh, &p) == Some(Kind::Dir));
                }
                'T' => {
                    // into a directory, under the same name; which one is in the other argument
                    let full = self.e.full(&sh, &p);
                    if !full.contains(UNK) && self.e.fs.is_dir(&full) {
                        self.e.effect(&mut sh, 'd', &p, false);
                    } else {
                        self.e.effect(&mut sh, 'W', &p, false);
                    }
                }
                'D' => {
                    let full = self.e.full(&sh, &p);
                    if full.contains(UNK) || self.e.fs.what(&full).is_none() {
                        self.e.effect(&mut sh, 'D', &p, false);
                    }
                }
                'X' | 'R' => {
                    let full = self.e.full(&sh, &p);
                    if full.contains(UNK) || self.e.exists(&sh, &p) || !self.e.out.unknown.is_empty() {
                        self.e.effect(&mut sh, e, &p, false);
                    }
                }
                _ => self.e.effect(&mut sh, e, &p, e == 'B'),
            }
        }
    }

    pub(super) fn lang(&self) -> Lang {
        self.lang
    }

    pub(super) fn lang_name(&self) -> &'static str {
        match self.lang {
            Lang::Python => "python",
            Lang::Node => "node",
            Lang::Perl => "perl",
            Lang::Ruby => "ruby",
            Lang::Php => "php",
        }
    }

    pub(super) fn shell(&mut self, script: &str) {
        let mut child = self.e.child(&self.sh, true);
        self.e.script(&mut child, script);
        self.e.end(&mut child);
    }

    pub(super) fn argv(&mut self, v: &Val, rest: &[Val], cwd: Option<&Val>) {
        let mut words: Vec<String> = v.texts();
        for r in rest {
            words.extend(r.any.iter().cloned());
        }
        let mut sh = self.sh.clone();
        if let Some(d) = cwd.and_then(|c| c.any.first()) {
            sh.cwd = self.e.full(&self.sh, d);
        }
        self.e.call(&mut sh, words, false);
    }

    /// A file is opened: whether its mode writes.
    pub(super) fn open(&mut self, path: &Val, mode: Option<&Val>, default_writes: bool) -> Val {
        let writes = match mode {
            None => default_writes,
            Some(m) if m.any.is_empty() || m.any.iter().any(|x| x.contains(UNK)) => {
                self.e.unknown("how a file is opened is not known", &path.texts().join(" "));
                false
            }
            // flags as a number
            Some(m) if m.any.iter().any(|m| m.parse::<u64>().is_ok_and(|flags| flags != 0)) => true,
            Some(m) => m.any.iter().any(|m| m.contains(['w', 'a', 'x', '+', '>', 'c']) && !m.starts_with('<') || m.contains("+<")),
        };
        if writes {
            self.effect('W', path);
            return Val { from: "open".into(), ..Val::default() };
        }
        let mut texts = Vec::new();
        for p in path.texts().iter().take(8) {
            let sh = self.sh.clone();
            texts.push(self.e.content(&sh, p));
        }
        Val { any: texts, list: false, from: "open".into() }
    }

    pub(super) fn list_dir(&mut self, v: &Val, joined: bool) -> Val {
        let mut out = Vec::new();
        for d in v.texts() {
            let full = self.e.full(&self.sh, &d);
            match self.e.fs.list(&full) {
                Some(l) => out.extend(l.iter().map(|(n, _)| if joined { join(&d, n) } else { n.clone() })),
                None => out.push(UNK.to_string()),
            }
        }
        Val::many(out)
    }

    pub(super) fn glob(&mut self, v: &Val) -> Val {
        let mut out = Vec::new();
        for p in v.texts() {
            let mut sh = self.sh.clone();
            sh.opts.globstar = true;
            out.extend(self.e.glob(&sh, &p));
        }
        Val::many(out)
    }

    pub(super) fn walk(&mut self, v: &Val) -> Val {
        let mut out = Vec::new();
        let mut stack = v.texts();
        while let Some(d) = stack.pop() {
            out.push(format!("{d}/"));
            let full = self.e.full(&self.sh, &d);
            for (n, k) in self.e.fs.list(&full).iter().flat_map(|l| l.iter()) {
                if out.len() > 400 {
                    break;
                }
                if *k == Kind::Dir { stack.push(join(&d, n)) } else { out.push(n.clone()) }
            }
        }
        Val { any: out, list: true, from: "walk".into() }
    }
}
