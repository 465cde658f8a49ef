//! What a word becomes: tilde, parameters, substitutions, splitting, and the files that a pattern names.

use super::engine::{Engine, MAX_DEPTH, MAX_TEXT, UNK};
use super::state::{Fd, Flow, Shell};
use super::syntax::{Cmd, Part, RedirOp, Word};
use super::{brace, pattern, words};
use std::rc::Rc;

/// Most words of one command.
const MAX_WORDS: usize = 8192;

/// Words under construction. A word is kept as a pattern: quoted characters that would be special carry a backslash.
pub(crate) struct Build {
    done: Vec<String>,
    cur: Option<String>,
    split: bool,
    ifs: String,
}

impl Build {
    fn quoted(&mut self, text: &str) {
        self.cur.get_or_insert_default().push_str(&pattern::escape(text));
    }

    fn alive(&mut self, text: &str) {
        self.cur.get_or_insert_default().push_str(text);
    }

    fn cut(&mut self) {
        if let Some(c) = self.cur.take() {
            self.done.push(c);
        }
    }

    /// The result of an expansion outside of quotes: split, patterns stay alive.
    fn expanded(&mut self, text: &str) {
        if !self.split {
            self.alive(&text.replace('\\', "\\\\"));
            return;
        }
        let ifs = self.ifs.clone();
        let mut pending = false;
        for ch in text.chars() {
            if ifs.contains(ch) {
                if ch.is_whitespace() {
                    self.cut();
                } else {
                    if self.cur.is_none() && pending {
                        self.cur = Some(String::new());
                    }
                    self.cut();
                    pending = true;
                }
            } else {
                pending = false;
                let c = self.cur.get_or_insert_default();
                if ch == '\\' {
                    c.push('\\');
                }
                c.push(ch);
            }
        }
    }
}

impl Engine<'_> {
    fn build(&mut self, sh: &Shell, split: bool) -> Build {
        let ifs = if split { self.var(sh, "IFS").unwrap_or_else(|| " \t\n".into()) } else { String::new() };
        Build { done: Vec::new(), cur: None, split, ifs }
    }

    /// The words that a list of words becomes.
    pub(crate) fn fields(&mut self, sh: &mut Shell, list: &[Word]) -> Vec<String> {
        let mut out = Vec::new();
        for w in list {
            if out.len() > MAX_WORDS {
                self.unknown("too many words", "");
                break;
            }
            if w.braces && !sh.opts.posix {
                for raw in brace::expand(&w.raw) {
                    let parts = words::parts(&raw);
                    self.word_fields(sh, &parts, &mut out);
                }
            } else {
                self.word_fields(sh, &w.parts, &mut out);
            }
        }
        out
    }

    fn word_fields(&mut self, sh: &mut Shell, parts: &[Part], out: &mut Vec<String>) {
        if let [Part::Plain(t)] = parts
            && !t.starts_with('~')
            && !t.contains(['*', '?', '[', '\\', '(', '='])
        {
            out.push(t.clone());
            return;
        }
        let mut b = self.build(sh, true);
        self.parts(sh, parts, &mut b, false);
        b.cut();
        for p in b.done {
            if sh.opts.noglob || !pattern::alive(&p) {
                out.push(pattern::unescape(&p));
                continue;
            }
            let found = self.glob(sh, &p);
            if found.is_empty() {
                if !sh.opts.nullglob {
                    out.push(pattern::unescape(&p));
                }
            } else {
                out.extend(found);
            }
        }
    }

    /// A word without splitting and patterns.
    pub(crate) fn one(&mut self, sh: &mut Shell, w: &Word) -> String {
        pattern::unescape(&self.pattern(sh, w))
    }

    /// A word as a pattern: what quotes made literal carries a backslash.
    pub(crate) fn pattern(&mut self, sh: &mut Shell, w: &Word) -> String {
        self.pattern_parts(sh, &w.parts)
    }

    pub(crate) fn pattern_parts(&mut self, sh: &mut Shell, parts: &[Part]) -> String {
        let mut b = self.build(sh, false);
        self.parts(sh, parts, &mut b, true);
        b.cut();
        if b.done.len() == 1 { b.done.swap_remove(0) } else { b.done.join(" ") }
    }

    /// A word as a regular expression: quoted parts are literal.
    pub(crate) fn regex_word(&mut self, sh: &mut Shell, w: &Word) -> String {
        let mut out = String::new();
        for p in &w.parts {
            match p {
                Part::Plain(t) => out.push_str(t),
                Part::Param(_) | Part::Command(_) | Part::Arith(_) => {
                    let t = self.pattern_parts(sh, std::slice::from_ref(p));
                    out.push_str(&pattern::unescape(&t));
                }
                _ => {
                    let t = self.pattern_parts(sh, std::slice::from_ref(p));
                    for c in pattern::unescape(&t).chars() {
                        if !c.is_alphanumeric() && c != '_' && c != '/' {
                            out.push('\\');
                        }
                        out.push(c);
                    }
                }
            }
        }
        out
    }

    /// Text of parts that stand in double quotes or a here-document.
    pub(crate) fn text(&mut self, sh: &mut Shell, parts: &[Part]) -> String {
        pattern::unescape(&self.pattern_parts(sh, parts))
    }

    fn parts(&mut self, sh: &mut Shell, parts: &[Part], b: &mut Build, assign: bool) {
        for (i, p) in parts.iter().enumerate() {
            match p {
                Part::Plain(t) => {
                    let t = if i == 0 && t.starts_with('~') || t.contains("=~") || assign && t.contains(":~") {
                        self.tildes(sh, t, assign, parts.len() == 1 || t.contains('/'))
                    } else {
                        t.clone()
                    };
                    b.alive(&t);
                }
                Part::Quoted(t) => b.quoted(t),
                Part::Double(inner) => {
                    if inner.is_empty() {
                        b.quoted("");
                    }
                    self.double(sh, inner, b);
                }
                Part::Param(p) => self.param(sh, p, b, false),
                Part::Command(script) => {
                    let t = self.substitute(sh, script);
                    b.expanded(&t);
                }
                Part::Arith(text) => {
                    let t = self.number_text(sh, text);
                    b.expanded(&t);
                }
                Part::Process { out, script } => {
                    let t = self.process(sh, *out, script);
                    b.quoted(&t);
                }
            }
        }
    }

    fn double(&mut self, sh: &mut Shell, inner: &[Part], b: &mut Build) {
        for p in inner {
            match p {
                Part::Plain(t) | Part::Quoted(t) => b.quoted(t),
                Part::Param(p) => self.param(sh, p, b, true),
                Part::Command(script) => {
                    let t = self.substitute(sh, script);
                    b.quoted(&t);
                }
                Part::Arith(text) => {
                    let t = self.number_text(sh, text);
                    b.quoted(&t);
                }
                Part::Double(d) => self.double(sh, d, b),
                Part::Process { .. } => {}
            }
        }
    }

    fn param(&mut self, sh: &mut Shell, p: &super::syntax::Param, b: &mut Build, quoted: bool) {
        use super::param::Got;
        match self.parameter(sh, p, quoted) {
            Got::Nothing => {
                if quoted {
                    b.quoted("");
                }
            }
            Got::Text(t) => {
                if !self.spend(t.len() * 6) {
                    b.quoted(&UNK.to_string());
                } else if quoted {
                    b.quoted(&t);
                } else {
                    b.expanded(&t);
                }
            }
            Got::Parts(parts) => {
                if quoted {
                    self.double(sh, &parts, b);
                } else {
                    // the word of `${x:-word}` keeps its own quotes and is split where it has none
                    for part in &parts {
                        match part {
                            Part::Plain(t) => b.expanded(t),
                            other => self.parts(sh, std::slice::from_ref(other), b, false),
                        }
                    }
                }
            }
            Got::Many(all) => {
                // "$@": the first goes on with the word in front, the last with the word behind
                for (i, t) in all.iter().enumerate() {
                    if i > 0 {
                        if b.split {
                            b.cut();
                        } else {
                            b.quoted(" ");
                        }
                    }
                    if quoted {
                        b.quoted(t);
                    } else {
                        b.expanded(t);
                    }
                }
            }
        }
    }

    fn tildes(&mut self, sh: &Shell, t: &str, assign: bool, _whole: bool) -> String {
        let mut out = String::new();
        let mut rest = t;
        if let Some(i) = t.find("=~") {
            let name = &t[..i];
            if !assign || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '+') {
                return if t.starts_with('~') { self.tilde(sh, t) } else { t.to_owned() };
            }
            out.push_str(&t[..=i]);
            rest = &t[i + 1..];
        }
        let bits: Vec<String> = if assign {
            rest.split(':').map(|x| if x.starts_with('~') { self.tilde(sh, x) } else { x.to_owned() }).collect()
        } else {
            vec![self.tilde(sh, rest)]
        };
        out + &bits.join(":")
    }

    /// `~`, `~+`, `~-`, `~user`.
    fn tilde(&mut self, sh: &Shell, t: &str) -> String {
        let end = t.find('/').unwrap_or(t.len());
        let dir = match &t[1..end] {
            "" => self.var(sh, "HOME").or_else(|| self.input.home.map(|h| h.to_string_lossy().into_owned())),
            "+" => Some(sh.cwd.clone()),
            "-" => sh.oldpwd.clone(),
            n if n.chars().all(|c| c.is_ascii_digit()) => {
                sh.dirs.iter().rev().nth(n.parse::<usize>().unwrap_or(1).wrapping_sub(1)).cloned()
            }
            "root" => Some("/root".into()),
            user if user.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') => Some(UNK.to_string()),
            _ => None,
        };
        match dir {
            Some(d) => format!("{}{}", pattern::escape(&d), &t[end..]),
            None => t.to_owned(),
        }
    }

    /// `$(…)`
    pub(crate) fn substitute(&mut self, sh: &mut Shell, script: &str) -> String {
        if self.depth >= MAX_DEPTH {
            self.unknown("nested too deep", script);
            return UNK.to_string();
        }
        let parsed = self.parsed(script);
        if let Ok(Cmd::Simple { assigns, words, redirs }) = &*parsed
            && assigns.is_empty()
            && words.is_empty()
            && redirs.len() == 1
            && redirs[0].op == RedirOp::In
        {
            let name = self.one(sh, &redirs[0].target);
            return self.content(sh, &name).trim_end_matches('\n').to_owned();
        }
        let buf = self.buffer();
        let mut sub = self.subshell(sh);
        sub.set_fd(1, Fd::Buf(buf));
        self.script(&mut sub, script);
        self.end(&mut sub);
        sh.status = sub.status;
        let text = self.bufs.get_mut(buf).map(std::mem::take).unwrap_or_default();
        if !self.spend(text.len()) {
            return UNK.to_string();
        }
        text.trim_end_matches('\n').to_owned()
    }

    /// `<(…)` and `>(…)`: a path that leads to a text.
    fn process(&mut self, sh: &mut Shell, out: bool, script: &str) -> String {
        let n = i32::try_from(100 + self.ins.len() + self.bufs.len()).unwrap_or(100);
        let buf = self.buffer();
        let mut sub = self.subshell(sh);
        if out {
            self.waiting.push((script.to_owned(), buf, sub));
            sh.set_fd(n, Fd::Buf(buf));
        } else {
            sub.set_fd(1, Fd::Buf(buf));
            self.script(&mut sub, script);
            self.end(&mut sub);
            let text = std::mem::take(&mut self.bufs[buf]);
            let id = self.stream(text);
            sh.set_fd(n, Fd::In(id));
        }
        format!("/dev/fd/{n}")
    }
}

/// Cuts a text that has grown too long.
pub(crate) fn bounded(text: String) -> String {
    if text.len() > MAX_TEXT { UNK.to_string() } else { text }
}

/// The flow after a function or sourced file: a `return` ends there.
pub(crate) fn after_call(flow: Flow) -> Flow {
    match flow {
        Flow::Exit => Flow::Exit,
        _ => Flow::Next,
    }
}

/// Shares a text.
pub(crate) fn shared(text: &str) -> Rc<str> {
    text.into()
}
