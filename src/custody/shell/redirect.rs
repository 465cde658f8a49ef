//! Redirections, and simple commands: words, then redirections, then assignments, then the call, as a shell does it.

use super::super::act::ActKind;
use super::assign::is_assignment;
use super::deeds::{fd_path, is_device};
use super::engine::{Engine, UNK};
use super::picture::Left;
use super::state::{Fd, Flow, Shell, Var};
use super::syntax::{Part, Redir, RedirOp, Word};
use super::{Kind, pattern, words};

impl Engine<'_> {
    /// Carries redirections out on the shell's descriptors; false where one fails.
    pub(crate) fn redirect(&mut self, sh: &mut Shell, redirs: &[Redir]) -> bool {
        for r in redirs {
            if !self.redirect_one(sh, r) {
                return false;
            }
        }
        true
    }

    fn redirect_one(&mut self, sh: &mut Shell, r: &Redir) -> bool {
        self.by = "redirection".into();
        let default = match r.op {
            RedirOp::In | RedirOp::Both | RedirOp::DupIn | RedirOp::Here { .. } | RedirOp::HereString => 0,
            _ => 1,
        };
        let fd = match &r.var {
            Some(name) => {
                if r.op == RedirOp::Close {
                    return true;
                }
                let n = 10 + i32::try_from(sh.fds.len()).unwrap_or(0);
                self.assign(sh, name, n.to_string());
                n
            }
            None if r.fd >= 0 => r.fd,
            None => default,
        };
        match r.op {
            RedirOp::Here { expand } => {
                let text = if expand { self.text(sh, &r.target.parts) } else { r.target.raw.clone() };
                let id = self.stream(text);
                sh.set_fd(fd, Fd::In(id));
                true
            }
            RedirOp::HereString => {
                let text = self.one(sh, &r.target) + "\n";
                let id = self.stream(text);
                sh.set_fd(fd, Fd::In(id));
                true
            }
            RedirOp::Close => {
                sh.set_fd(fd, Fd::Null);
                true
            }
            RedirOp::DupIn | RedirOp::DupOut => {
                let to = self.target(sh, &r.target);
                if to == "-" {
                    sh.set_fd(fd, Fd::Null);
                    return true;
                }
                if let Ok(n) = to.trim_end_matches('-').parse::<i32>() {
                    let f = sh.fd(n);
                    if to.ends_with('-') && n != fd {
                        sh.set_fd(n, Fd::Null);
                    }
                    if let (Fd::Both(p, _), RedirOp::DupOut) = (&f, r.op) {
                        let p = p.clone();
                        self.act(sh, ActKind::Write, &p, true, false);
                    }
                    sh.set_fd(fd, f);
                    return true;
                }
                if r.op == RedirOp::DupOut {
                    // `>&word` is both streams to a file
                    let ok = self.open(sh, fd, &to, RedirOp::Out);
                    if r.fd < 0 {
                        let f = sh.fd(fd);
                        sh.set_fd(2, f);
                    }
                    return ok;
                }
                true
            }
            RedirOp::OutErr | RedirOp::AppendErr => {
                let to = self.target(sh, &r.target);
                let op = if r.op == RedirOp::OutErr { RedirOp::Out } else { RedirOp::Append };
                let ok = self.open(sh, 1, &to, op);
                let f = sh.fd(1);
                sh.set_fd(2, f);
                ok
            }
            op => {
                let to = self.target(sh, &r.target);
                self.open(sh, fd, &to, op)
            }
        }
    }

    /// The target of a redirection: a pattern that names one file stands for it.
    fn target(&mut self, sh: &mut Shell, w: &Word) -> String {
        let raw;
        if w.braces && super::brace::expand(&w.raw).len() > 1 {
            // several words: the shell calls that ambiguous and runs nothing
            return String::new();
        }
        let w = if w.braces {
            raw = words::word(&w.raw);
            &raw
        } else {
            w
        };
        let p = self.pattern(sh, w);
        if pattern::alive(&p) && !sh.opts.noglob {
            let found = self.glob(sh, &p);
            if found.len() == 1 {
                return found.into_iter().next().unwrap_or_default();
            }
        }
        pattern::unescape(&p)
    }

    fn open(&mut self, sh: &mut Shell, fd: i32, name: &str, op: RedirOp) -> bool {
        let full = self.full(sh, name);
        if let Some(n) = fd_path(&full) {
            let f = sh.fd(n);
            sh.set_fd(fd, f);
            return true;
        }
        if is_device(&full) || name.is_empty() {
            sh.set_fd(fd, Fd::Null);
            return !name.is_empty();
        }
        if op == RedirOp::In {
            let text = self.content(sh, name);
            if !full.contains(UNK) && self.fs.what(&full).is_none() {
                return false;
            }
            let id = self.stream(text);
            // a pipe made by the shell itself has no name of its own
            sh.set_fd(fd, if full.starts_with('/') && !full.starts_with("/dev/") { Fd::Read(full, id) } else { Fd::In(id) });
            return true;
        }
        let at = if full.contains(UNK) { None } else { Some(self.fs.at(&full, true)) };
        let kind = at.as_ref().and_then(|a| a.kind);
        if kind == Some(Kind::Dir) {
            return false;
        }
        if let Some(at) = &at {
            // a shell can't make the directories in between
            let parent = super::picture::split(&at.path).0.to_owned();
            if kind.is_none() && full.starts_with('/') && !self.fs.is_dir(&parent) && !self.unknown_place(&parent) {
                return false;
            }
        }
        if op == RedirOp::Out && sh.opts.noclobber && kind == Some(Kind::File) {
            return false;
        }
        if op == RedirOp::Both && kind.is_some() && !matches!(fd, 1 | 2) {
            let text = self.content(sh, name);
            let id = self.stream(text);
            sh.set_fd(fd, Fd::Both(full, id));
            return true;
        }
        self.act(sh, if kind.is_some() { ActKind::Write } else { ActKind::Create }, name, true, false);
        match op {
            _ if self.is_pipe(&full) => {}
            RedirOp::Out | RedirOp::Clobber => self.fs.leave(&full, true, Left::File(Some("".into()))),
            _ => {
                if kind.is_none() {
                    self.fs.leave(&full, true, Left::File(Some("".into())));
                }
            }
        }
        sh.set_fd(fd, Fd::File(full));
        true
    }

    /// Whether something unknown may have made this directory: a program nobody can read ran before.
    fn unknown_place(&self, path: &str) -> bool {
        path.contains(UNK) || !self.out.unknown.is_empty()
    }

    /// Follows a simple command.
    pub(crate) fn simple(&mut self, sh: &mut Shell, assigns: &[Word], list: &[Word], redirs: &[Redir]) -> Flow {
        if sh.opts.noexec {
            return Flow::Next;
        }
        self.fire(sh, "DEBUG", true);
        if let Some(flow) = self.alias(sh, list, redirs) {
            return flow;
        }
        let mut argv = if list.first().is_some_and(|w| declares(&w.raw)) { self.declare_fields(sh, list) } else { self.fields(sh, list) };
        if sh.opts.noexec {
            // `${x:?}` ends the shell
            return Flow::Exit;
        }
        let exec_only = list.len() == 1 && matches!(argv.first().map(String::as_str), Some("exec"));
        if argv.is_empty() {
            sh.status = Some(0);
            let saved = sh.fds.clone();
            for a in assigns {
                self.assignment(sh, &a.raw, false, false);
            }
            if !self.redirect(sh, redirs) {
                sh.status = Some(1);
            }
            sh.fds = saved;
            self.drain();
            return Flow::Next;
        }
        if sh.opts.xtrace {
            self.trace(sh);
        }
        if exec_only {
            sh.status = Some(i32::from(!self.redirect(sh, redirs)));
            return Flow::Next;
        }
        let saved = sh.fds.clone();
        if !self.redirect(sh, redirs) {
            sh.fds = saved;
            sh.status = Some(1);
            return Flow::Next;
        }
        let mut kept: Vec<(String, Option<Var>)> = Vec::new();
        for a in assigns {
            let name = a.raw.split(['=', '[', '+']).next().unwrap_or("").to_owned();
            kept.push((name.clone(), sh.vars.get(&name).cloned()));
            self.assignment(sh, &a.raw, true, false);
        }
        argv.iter_mut().for_each(|a| a.truncate_at_nul());
        let flow = self.call(sh, argv, true);
        for (name, old) in kept.into_iter().rev() {
            match old {
                Some(v) => sh.vars.insert(name, v),
                None => sh.vars.remove(&name),
            };
        }
        // `exec >file` inside of a function or group stays; anything else goes back
        sh.fds = saved;
        self.drain();
        flow
    }

    /// `set -x`: what is printed in front of each command is expanded, and so what stands in it is run.
    fn trace(&mut self, sh: &mut Shell) {
        let Some(prompt) = self.var(sh, "PS4").filter(|prompt| prompt.contains(['$', '`'])) else { return };
        sh.opts.xtrace = false;
        let parts = words::double_parts(&prompt);
        self.text(sh, &parts);
        sh.opts.xtrace = true;
    }

    fn alias(&mut self, sh: &mut Shell, list: &[Word], redirs: &[Redir]) -> Option<Flow> {
        if sh.aliases.is_empty() || !sh.opts.aliases && !sh.opts.posix {
            return None;
        }
        let first = list.first()?;
        let [Part::Plain(name)] = first.parts.as_slice() else { return None };
        let value = sh.aliases.get(name)?.clone();
        let mut text = value;
        for w in &list[1..] {
            text.push(' ');
            text.push_str(&w.raw);
        }
        // an alias is not expanded inside of itself
        let saved = sh.aliases.remove(name);
        let fds = sh.fds.clone();
        let flow = if self.redirect(sh, redirs) { self.script(sh, &text) } else { Flow::Next };
        sh.fds = fds;
        if let Some(v) = saved {
            sh.aliases.insert(name.clone(), v);
        }
        Some(flow)
    }

    /// The words of `export`, `local` and the like: an assignment among them is not split.
    fn declare_fields(&mut self, sh: &mut Shell, list: &[Word]) -> Vec<String> {
        let mut out = Vec::new();
        for w in list {
            if is_assignment(&w.raw) {
                let eq = w.raw.find('=').unwrap_or(0);
                if w.raw[eq + 1..].starts_with('(') {
                    out.push(w.raw.clone());
                } else {
                    let value = words::word(&w.raw[eq + 1..]);
                    let v = self.one(sh, &value);
                    out.push(format!("{}={v}", &w.raw[..eq]));
                }
            } else {
                out.extend(self.fields(sh, std::slice::from_ref(w)));
            }
        }
        out
    }
}

trait Nul {
    fn truncate_at_nul(&mut self);
}

impl Nul for String {
    /// An argument ends at a zero byte.
    fn truncate_at_nul(&mut self) {
        if let Some(i) = self.find('\0') {
            self.truncate(i);
        }
    }
}

fn declares(raw: &str) -> bool {
    matches!(raw, "export" | "declare" | "typeset" | "local" | "readonly" | "alias")
}
