//! Variables and the forms of `${…}`.

use super::engine::{Engine, UNK};
use super::expand::bounded;
use super::state::{Shell, Value};
use super::syntax::{Param, Part};
use super::trim::{replace, split_slash, trim_back, trim_front};
use super::words;

/// What a parameter gives.
pub(crate) enum Got {
    /// It is not set.
    Nothing,
    /// One text.
    Text(String),
    /// Several words (`"$@"`, `"${a[@]}"`).
    Many(Vec<String>),
    /// A word that is still to be expanded (`${x:-word}`).
    Parts(Vec<Part>),
}

impl Engine<'_> {
    /// The value of a plain variable.
    pub(crate) fn var(&mut self, sh: &Shell, name: &str) -> Option<String> {
        match sh.vars.get(name).map(|v| &v.value) {
            Some(Value::Text(t)) => return Some(t.clone()),
            Some(Value::List(l)) => return l.get(&0).cloned(),
            Some(Value::Map(m)) => return m.iter().find(|(k, _)| k == "0").map(|(_, v)| v.clone()),
            Some(Value::Ref(r)) if r != name && !sh.vars.get(r).is_some_and(|v| matches!(v.value, Value::Ref(_))) => {
                let r = r.clone();
                return self.var(sh, &r);
            }
            Some(Value::Ref(_) | Value::Unset) => return None,
            None => {}
        }
        let unk = || Some(UNK.to_string());
        match name {
            "PWD" => Some(sh.cwd.clone()),
            "OLDPWD" => sh.oldpwd.clone(),
            "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" | "EPOCHREALTIME" | "PPID" | "BASHPID" | "LINENO" | "HOSTNAME" | "UID"
            | "EUID" | "$" | "!" | "BASH_VERSION" | "BASH_COMMAND" => unk(),
            "?" => Some(sh.status.map_or_else(|| UNK.to_string(), |s| s.to_string())),
            "#" => Some(sh.args.len().to_string()),
            "0" => Some(sh.arg0.clone()),
            "BASH" => Some("/bin/bash".into()),
            "-" => Some("hBc".into()),
            "_" => unk(),
            "@" | "*" => {
                if sh.args.is_empty() {
                    None
                } else {
                    Some(sh.args.join(" "))
                }
            }
            "IFS" => Some(" \t\n".into()),
            n if n.starts_with(|c: char| c.is_ascii_digit()) => n.parse::<usize>().ok().and_then(|i| sh.args.get(i - 1).cloned()),
            n if sh.no_env => (n == "PATH").then(|| self.input.env.get(n).cloned().unwrap_or_default()),
            n => self.input.env.get(n).map(|v| v.replace(UNK, "?")),
        }
    }

    /// All elements of an array or of the arguments; `None` where the name is no list.
    pub(super) fn all(&mut self, sh: &Shell, p: &Param) -> Option<Vec<(String, String)>> {
        if p.index.is_none() && (p.name == "@" || p.name == "*") {
            return Some(sh.args.iter().enumerate().map(|(i, a)| ((i + 1).to_string(), a.clone())).collect());
        }
        if !matches!(p.index.as_deref(), Some("@" | "*")) {
            return None;
        }
        let mut name = p.name.as_str();
        if let Some(Value::Ref(r)) = sh.vars.get(name).map(|v| &v.value) {
            name = r;
        }
        Some(match sh.vars.get(name).map(|v| &v.value) {
            Some(Value::List(l)) => l.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
            Some(Value::Map(m)) => m.clone(),
            _ => match name {
                "FUNCNAME" | "BASH_SOURCE" | "PIPESTATUS" | "DIRSTACK" => vec![("0".into(), UNK.to_string())],
                n => self.var(sh, n).map(|v| ("0".into(), v)).into_iter().collect(),
            },
        })
    }

    pub(super) fn element(&mut self, sh: &mut Shell, name: &str, index: &str) -> Option<String> {
        let mut name = name.to_owned();
        if let Some(Value::Ref(r)) = sh.vars.get(&name).map(|v| &v.value) {
            name = r.clone();
        }
        match sh.vars.get(&name).map(|v| v.value.clone()) {
            Some(Value::Map(m)) => {
                let key = self.key(sh, index);
                if key.contains(UNK) {
                    return Some(UNK.to_string());
                }
                m.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone())
            }
            Some(Value::List(l)) => match self.number(sh, index) {
                Some(n) if n < 0 => {
                    let max = l.keys().next_back().copied().unwrap_or(-1);
                    l.get(&(max + 1 + n)).cloned()
                }
                Some(n) => l.get(&n).cloned(),
                None if l.len() == 1 => l.values().next().cloned(),
                None => Some(UNK.to_string()),
            },
            _ => {
                if matches!(name.as_str(), "BASH_SOURCE") {
                    return Some(sh.arg0.clone());
                }
                match self.number(sh, index) {
                    Some(0) => self.var(sh, &name),
                    _ => None,
                }
            }
        }
    }

    pub(super) fn key(&mut self, sh: &mut Shell, index: &str) -> String {
        let parts = words::parts(index);
        self.text(sh, &parts)
    }

    /// Works out a parameter.
    pub(crate) fn parameter(&mut self, sh: &mut Shell, p: &Param, quoted: bool) -> Got {
        if p.indirect {
            return self.indirect(sh, p, quoted);
        }
        if let Some(Value::Ref(to)) = sh.vars.get(&p.name).map(|v| &v.value)
            && let Some((name, index)) = to.split_once('[')
        {
            let element = Param { name: name.to_owned(), index: Some(index.trim_end_matches(']').to_owned()), ..p.clone() };
            return self.parameter(sh, &element, quoted);
        }
        if let Some(all) = self.all(sh, p) {
            return self.list_form(sh, p, all, quoted);
        }
        let value = match &p.index {
            Some(i) => self.element(sh, &p.name, i),
            None => self.var(sh, &p.name),
        };
        if p.length {
            return Got::Text(match value {
                Some(v) if v.contains(UNK) => UNK.to_string(),
                Some(v) => v.chars().count().to_string(),
                None => "0".into(),
            });
        }
        let colon = p.op.starts_with(':') && p.op.len() == 2;
        let have = value.as_ref().is_some_and(|v| !colon || !v.is_empty());
        match p.op.trim_start_matches(':') {
            "-" if p.op.len() <= 2 && matches!(p.op.as_str(), "-" | ":-") => {
                if have {
                    return value.map_or(Got::Nothing, Got::Text);
                }
                return Got::Parts(self.inner(&p.arg, quoted));
            }
            "=" => {
                if have {
                    return value.map_or(Got::Nothing, Got::Text);
                }
                let parts = self.inner(&p.arg, quoted);
                let t = self.text(sh, &parts);
                self.assign(sh, &p.name, t.clone());
                return Got::Text(t);
            }
            "?" if matches!(p.op.as_str(), "?" | ":?") => {
                if !have {
                    return self.ends_with(sh, p, quoted);
                }
                return value.map_or(Got::Nothing, Got::Text);
            }
            "+" if matches!(p.op.as_str(), "+" | ":+") => {
                return if have { Got::Parts(self.inner(&p.arg, quoted)) } else { Got::Nothing };
            }
            _ => {}
        }
        match value {
            None if sh.opts.nounset && p.op.is_empty() => {
                sh.status = Some(1);
                sh.opts.noexec = true;
                Got::Nothing
            }
            None => Got::Nothing,
            Some(v) => Got::Text(self.operate(sh, p, v)),
        }
    }

    /// `${x:?word}`: the word is what the shell says as it ends.
    fn ends_with(&mut self, sh: &mut Shell, p: &Param, quoted: bool) -> Got {
        let parts = self.inner(&p.arg, quoted);
        self.text(sh, &parts);
        sh.status = Some(1);
        sh.opts.noexec = true;
        Got::Text(String::new())
    }

    fn inner(&mut self, arg: &str, quoted: bool) -> Vec<Part> {
        // a word in a word is taken apart again at each level
        if !self.spend(arg.len() * 24) {
            return vec![Part::Quoted(UNK.to_string())];
        }
        if quoted { words::double_parts(arg) } else { words::parts(arg) }
    }

    fn indirect(&mut self, sh: &mut Shell, p: &Param, quoted: bool) -> Got {
        if p.index.is_none() && matches!(p.op.as_str(), "*" | "@") && p.arg.is_empty() {
            let mut names: Vec<String> = sh.vars.keys().filter(|k| k.starts_with(&p.name)).cloned().collect();
            names.extend(self.input.env.keys().filter(|k| k.starts_with(&p.name)).cloned());
            names.sort();
            names.dedup();
            return Got::Many(names);
        }
        if let Some(all) = self.all(sh, p) {
            return Got::Many(all.into_iter().map(|(k, _)| k).collect());
        }
        let target = match &p.index {
            Some(i) => self.element(sh, &p.name, i),
            None => match sh.vars.get(&p.name).map(|v| v.value.clone()) {
                Some(Value::Ref(r)) => return Got::Text(r),
                _ => self.var(sh, &p.name),
            },
        };
        let Some(target) = target else { return Got::Nothing };
        if target.contains(UNK) {
            return Got::Text(UNK.to_string());
        }
        let (name, index) = match target.split_once('[') {
            Some((n, i)) => (n.to_owned(), Some(i.trim_end_matches(']').to_owned())),
            None => (target, None),
        };
        let q = Param { name, index, indirect: false, ..p.clone() };
        self.parameter(sh, &q, quoted)
    }

    fn list_form(&mut self, sh: &mut Shell, p: &Param, all: Vec<(String, String)>, quoted: bool) -> Got {
        let star = p.index.as_deref().unwrap_or(&p.name) == "*";
        if p.length {
            return Got::Text(all.len().to_string());
        }
        let values: Vec<String> = match p.op.as_str() {
            "" => all.into_iter().map(|x| x.1).collect(),
            ":" => {
                let (off, len) = self.slice(sh, &p.arg);
                let Some(off) = off else { return Got::Many(all.into_iter().map(|x| x.1).collect()) };
                let mut v: Vec<String> = all.into_iter().map(|x| x.1).collect();
                if p.index.is_none() {
                    v.insert(0, sh.arg0.clone());
                }
                let n = i64::try_from(v.len()).unwrap_or(0);
                let from = usize::try_from(if off < 0 { (n + off).max(0) } else { off.min(n) }).unwrap_or(0);
                let len = len.map_or(v.len(), |l| usize::try_from(l).unwrap_or(0));
                v.into_iter().skip(from).take(len).collect()
            }
            "-" | ":-" if all.is_empty() => return Got::Parts(self.inner(&p.arg, quoted)),
            "+" | ":+" => return if all.is_empty() { Got::Nothing } else { Got::Parts(self.inner(&p.arg, quoted)) },
            "?" | ":?" if all.is_empty() => return self.ends_with(sh, p, quoted),
            "=" | ":=" if all.is_empty() && p.index.is_some() => return self.ends_with(sh, p, quoted),
            "-" | ":-" | "=" | ":=" | "?" | ":?" => all.into_iter().map(|x| x.1).collect(),
            _ => {
                let mut out = Vec::new();
                for (_, v) in all {
                    out.push(self.operate(sh, p, v));
                }
                out
            }
        };
        if star && quoted {
            let sep = self.var(sh, "IFS").map_or(Some(' '), |s| s.chars().next());
            return Got::Text(values.join(&sep.map(String::from).unwrap_or_default()));
        }
        if values.is_empty() && !quoted {
            return Got::Nothing;
        }
        Got::Many(values)
    }

    fn slice(&mut self, sh: &mut Shell, arg: &str) -> (Option<i64>, Option<i64>) {
        // the colon of `a?b:c` is rare enough to be left out
        let (a, b) = arg.split_once(':').map_or((arg, None), |(a, b)| (a, Some(b)));
        let off = self.number(sh, a);
        let len = b.and_then(|b| self.number(sh, b));
        (off, len)
    }

    fn operate(&mut self, sh: &mut Shell, p: &Param, v: String) -> String {
        if p.op.is_empty() {
            return v;
        }
        if v.contains(UNK) && !matches!(p.op.as_str(), "%" | "#") {
            // what is not known stays so; a directory in front of it stays in front; what the words run, they run
            if p.arg.contains(['$', '`']) {
                if p.op == ":" {
                    self.slice(sh, &p.arg);
                } else {
                    let parts = words::parts(&p.arg);
                    self.text(sh, &parts);
                }
            }
            return v;
        }
        if !self.spend(v.len() * 2) {
            return UNK.to_string();
        }
        if matches!(p.op.as_str(), "^" | "^^" | "," | ",,") && p.arg.contains(['$', '`']) {
            let parts = words::parts(&p.arg);
            self.text(sh, &parts);
        }
        let pat = |e: &mut Self, sh: &mut Shell, text: &str| {
            let parts = words::parts(text);
            e.pattern_parts(sh, &parts)
        };
        match p.op.as_str() {
            ":" => {
                let (off, len) = self.slice(sh, &p.arg);
                let chars: Vec<char> = v.chars().collect();
                let n = i64::try_from(chars.len()).unwrap_or(0);
                let Some(off) = off else { return UNK.to_string() };
                let from = if off < 0 { n + off } else { off };
                if from < 0 || from > n {
                    return String::new();
                }
                let to = match len {
                    None => n,
                    Some(l) if l < 0 => (n + l).max(from),
                    Some(l) => from.saturating_add(l).min(n),
                };
                chars[usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0)].iter().collect()
            }
            "#" | "##" => {
                let w = pat(self, sh, &p.arg);
                trim_front(&v, &w, p.op == "##")
            }
            "%" | "%%" => {
                let w = pat(self, sh, &p.arg);
                trim_back(&v, &w, p.op == "%%")
            }
            "/" | "//" | "/#" | "/%" => {
                let (a, b) = split_slash(&p.arg);
                let w = pat(self, sh, &a);
                let parts = words::parts(&b);
                let with = self.text(sh, &parts);
                bounded(replace(&v, &w, &with, &p.op))
            }
            "^" => {
                let mut it = v.chars();
                it.next().map_or_else(String::new, |f| f.to_uppercase().chain(it).collect())
            }
            "^^" => v.to_uppercase(),
            "," => {
                let mut it = v.chars();
                it.next().map_or_else(String::new, |f| f.to_lowercase().chain(it).collect())
            }
            ",," => v.to_lowercase(),
            "@" => match p.arg.as_str() {
                "U" => v.to_uppercase(),
                "L" => v.to_lowercase(),
                "u" => {
                    let mut it = v.chars();
                    it.next().map_or_else(String::new, |f| f.to_uppercase().chain(it).collect())
                }
                "Q" => format!("'{}'", v.replace('\'', "'\\''")),
                "E" => words::ansi_c(&v.chars().collect::<Vec<_>>()),
                "a" => String::new(),
                // a prompt: what stands in it is run
                "P" => {
                    let parts = words::double_parts(&v);
                    self.text(sh, &parts)
                }
                _ => v,
            },
            _ => v,
        }
    }
}
