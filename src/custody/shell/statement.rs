//! Statements: functions, loops, assignments, and what they tell of the names in them.

use super::lex::{Lang, Tok};
use super::narrow::{DEDENT, INDENT};
use super::scan::{KEYWORDS, Val, Walk};

impl Walk<'_> {
    pub(super) fn statement(&mut self, t: &[Tok], i: usize) -> usize {
        // def f(a, b) · function f(a, b) · sub f { my ($a, $b) = @_;
        if let (Some(Tok::Name(k)), Some(Tok::Name(f))) = (t.get(i), t.get(i + 1))
            && matches!(k.as_str(), "def" | "function" | "sub" | "func")
        {
            let mut params = Vec::new();
            let mut k = i + 2;
            if Self::op(t, k, "(") {
                while k < t.len() && !Self::op(t, k, ")") {
                    if let (Tok::Name(n), Some(Tok::Op(prev))) = (&t[k], t.get(k - 1))
                        && (prev == "(" || prev == "," || prev == "*")
                    {
                        params.push(n.clone());
                    }
                    k += 1;
                }
            } else if let Some(p) = (i + 2..(i + 14).min(t.len())).find(|p| matches!(&t[*p], Tok::Name(n) if n == "my")) {
                let end = (p..t.len()).find(|e| Self::op(t, *e, "=")).unwrap_or(p);
                params =
                    t[p + 1..end.max(p + 1)].iter().filter_map(|x| if let Tok::Name(n) = x { Some(n.clone()) } else { None }).collect();
            }
            self.defs.insert(f.clone(), params);
            return k;
        }
        // `unlink for LIST`, `while (<FILE>)`: what `$_` holds
        if self.lang == Lang::Perl {
            self.topic(t, i);
        }
        // for x in LIST · for (const x of LIST) · foreach my $x (LIST)
        if let Some(Tok::Name(k)) = t.get(i)
            && (k == "for" || k == "foreach")
        {
            return self.for_in(t, i);
        }
        if self.lang == Lang::Python
            && matches!(t.get(i), Some(Tok::Name(k)) if k == "if" || k == "elif")
            && (i == 0
                || matches!(&t[i - 1], Tok::Line)
                || matches!(&t[i - 1], Tok::Op(o) if matches!(o.as_str(), ":" | ";" | INDENT | DEDENT)))
            && let Some(end) = self.python_if(t, i)
        {
            return end;
        }
        // names = expression
        if let Some(end) = self.targets(t, i) {
            let (names, eq) = end;
            let Some(Tok::Op(op)) = t.get(eq) else { return eq };
            let op = op.clone();
            let (v, next) = self.expr(t, eq + 1, 0);
            if self.lang == Lang::Node {
                // `const {writeFileSync: w} = …`: the new name stands for the old
                for w in t[i..eq].windows(3) {
                    if let [Tok::Name(a), Tok::Op(o), Tok::Name(b)] = w
                        && o == ":"
                    {
                        self.renames.insert(b.clone(), a.clone());
                    }
                }
                for w in t[i..eq].windows(4) {
                    if let [Tok::Str(old), Tok::Op(close), Tok::Op(colon), Tok::Name(new)] = w
                        && (close.as_str(), colon.as_str()) == ("]", ":")
                    {
                        let old = self.string(old);
                        self.renames.extend(old.any.into_iter().map(|old| (new.clone(), old)));
                    }
                }
            }
            if names.len() == 1
                && op == "="
                && !t[i..eq].iter().any(|tok| matches!(tok, Tok::Op(o) if matches!(o.as_str(), "{" | "[" | ",")))
                && let Some(name) = v.function()
                && name != names[0]
            {
                self.renames.insert(names[0].clone(), name.to_owned());
            }
            let same = names.len() == 1;
            let taken_apart = t[i..eq].iter().any(|tok| matches!(tok, Tok::Op(o) if o == "{"));
            for (k, n) in names.iter().enumerate() {
                let v = if let Some(module) = v.function().filter(|_| taken_apart) {
                    // `const {unlinkSync} = require("fs")`
                    Val { from: format!("{module}.{n}"), ..Val::default() }
                } else if same {
                    v.clone()
                } else {
                    Val { any: v.any.get(k).map_or_else(|| v.any.clone(), |x| vec![x.clone()]), ..Val::default() }
                };
                let v = match op.as_str() {
                    "=" | ":=" => {
                        if self.assigned.insert(n.clone()) {
                            v
                        } else {
                            self.vars.get(n).cloned().unwrap_or_default().or(v.clone())
                        }
                    }
                    _ => {
                        let old = self.vars.get(n).cloned().unwrap_or_default();
                        if old.list { old.or(v) } else { old.join(&v, "") }
                    }
                };
                let v = if v.any.len() > 200 { Val { any: v.any[..200].to_vec(), ..v } } else { v };
                self.vars.insert(n.clone(), v);
            }
            return next.max(eq + 1);
        }
        let (_, next) = self.expr(t, i, 0);
        next
    }

    pub(super) fn topic(&mut self, t: &[Tok], i: usize) {
        if matches!(t.get(i), Some(Tok::Name(n)) if n == "while" || n == "until") {
            if Self::op(t, i + 1, "(") && Self::op(t, i + 2, "<") {
                let (lines, _) = self.primary(t, i + 2, 1);
                self.vars.insert("_".into(), Val { list: false, ..lines });
            }
            return;
        }
        let mut level = 0i32;
        for k in i + 1..t.len().min(i + 60) {
            match &t[k] {
                Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => level += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => {
                    level -= 1;
                    if level < 0 {
                        return;
                    }
                }
                Tok::Op(o) if o == ";" && level == 0 => return,
                Tok::Name(n) if level == 0 && (n == "for" || n == "foreach") => {
                    let (list, _) = self.expr(t, k + 1, 1);
                    self.vars.insert("_".into(), Val { any: list.any, ..Val::default() });
                    return;
                }
                _ => {}
            }
        }
    }

    /// `a = `, `let a = `, `a, b = `, `my ($a, $b) = `, `const {a, b} = `.
    pub(super) fn targets(&self, t: &[Tok], i: usize) -> Option<(Vec<String>, usize)> {
        let mut k = i;
        let mut names = Vec::new();
        while k < t.len() && k < i + 24 {
            match &t[k] {
                Tok::Name(n) if KEYWORDS.contains(&n.as_str()) => {
                    if !matches!(n.as_str(), "let" | "const" | "var" | "my" | "our" | "local" | "export") {
                        return None;
                    }
                }
                Tok::Name(n) => names.push(n.clone()),
                Tok::Op(o)
                    if matches!(o.as_str(), "," | "(" | ")" | "{" | "}" | "$" | "@" | "[" | "]" | ":")
                        && (k == i
                            || matches!(o.as_str(), "," | ")" | "}" | "]" | ":")
                            || !names.is_empty()
                            || matches!(t.get(k - 1), Some(Tok::Name(_)))
                            || o == "[" && (Self::op(t, k - 1, "{") || Self::op(t, k - 1, ","))) =>
                {
                    let called = matches!(t.get(k.wrapping_sub(1)), Some(Tok::Name(n)) if !matches!(n.as_str(), "my" | "our" | "local"));
                    if o == "(" && (called || k == i) {
                        return None;
                    }
                    if matches!(o.as_str(), "[" | "]") && self.lang != Lang::Node || o == ":" && self.lang == Lang::Ruby {
                        return None;
                    }
                }
                // `{["name"]: other}`
                Tok::Str(_) if self.lang == Lang::Node && Self::op(t, k + 1, "]") && Self::op(t, k + 2, ":") => {}
                Tok::Op(o) if matches!(o.as_str(), "=" | ":=" | "+=" | ".=") => {
                    return if names.is_empty() { None } else { Some((names, k)) };
                }
                _ => return None,
            }
            k += 1;
        }
        None
    }

    pub(super) fn for_in(&mut self, t: &[Tok], i: usize) -> usize {
        let mut names = Vec::new();
        let mut k = i + 1;
        if self.lang == Lang::Perl && !matches!(t.get(k), Some(Tok::Name(_))) {
            names.push("_".to_owned());
        }
        while names.is_empty() && self.lang == Lang::Perl || self.lang != Lang::Perl && k < t.len() && k < i + 20 {
            if k >= t.len() || k >= i + 20 {
                break;
            }
            match &t[k] {
                Tok::Name(n) if n == "in" || n == "of" || n == "as" => break,
                Tok::Name(n) if KEYWORDS.contains(&n.as_str()) => {}
                Tok::Name(n) => names.push(n.clone()),
                Tok::Op(o) if matches!(o.as_str(), "(" | ")" | "," | "$" | "[" | "]") => {}
                _ => return i + 1,
            }
            k += 1;
        }
        if self.lang == Lang::Php {
            // foreach (LIST as $x)
            let (v, _) = self.expr(t, i + 2, 0);
            if let Some(Tok::Name(n)) = t.get(k + 1) {
                self.vars.insert(n.clone(), Val { any: v.any, ..Val::default() });
            }
            return k + 2;
        }
        // Perl's list follows at once; elsewhere a word stands in between
        let at = if self.lang == Lang::Perl { k } else { k + 1 };
        let (v, next) = self.expr(t, at, 0);
        if v.from == "walk" && names.len() == 3 {
            let (dirs, files): (Vec<String>, Vec<String>) = v.any.iter().cloned().partition(|p| p.ends_with('/'));
            self.vars
                .insert(names[0].clone(), Val { any: dirs.iter().map(|d| d.trim_end_matches('/').to_owned()).collect(), ..Val::default() });
            self.vars.insert(names[1].clone(), Val::default());
            self.vars.insert(names[2].clone(), Val { any: files, list: true, ..Val::default() });
            return next;
        }
        for n in names {
            let all = Val { any: v.any.clone(), list: false, from: if v.from == "path" { v.from.clone() } else { String::new() } };
            self.vars.insert(n, all);
        }
        next.max(k + 1)
    }
}
