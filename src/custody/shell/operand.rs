//! Operands of an expression: literals, names, members, calls, whatever hangs on them.

use super::engine::UNK;
use super::lex::{Lang, Tok};
use super::scan::{Args, KEYWORDS, Val, Walk};

impl Walk<'_> {
    pub(super) fn primary(&mut self, t: &[Tok], i: usize, depth: u32) -> (Val, usize) {
        if self.fuel == 0 || depth > 30 {
            return (Val::default(), i + 1);
        }
        self.fuel -= 1;
        let Some(tok) = t.get(i) else { return (Val::default(), i + 1) };
        let (mut v, mut k, mut path) = match tok {
            Tok::Str(p) => {
                let mut v = self.string(p);
                let mut k = i + 1;
                // strings side by side are one
                while self.lang == Lang::Python {
                    let Some(Tok::Str(p)) = t.get(k) else { break };
                    let r = self.string(p);
                    v = v.join(&r, "");
                    k += 1;
                }
                (v, k, String::new())
            }
            Tok::Run(p) => {
                let v = self.string(p);
                for s in v.texts() {
                    self.host.run(&s);
                }
                (Val::default(), i + 1, String::new())
            }
            Tok::Num(n) => (Val::text(n.clone()), i + 1, String::new()),
            Tok::Op(o) if o == "(" => {
                let (a, n) = self.args(t, i + 1, ")", depth + 1);
                let v = if a.pos.len() == 1 {
                    a.pos.into_iter().next().unwrap_or_default()
                } else {
                    Val::many(a.pos.into_iter().flat_map(|p| if p.any.is_empty() { vec![UNK.to_string()] } else { p.any }).collect())
                };
                (v, n, String::new())
            }
            Tok::Op(o) if o == "[" => {
                let (a, n) = self.args(t, i + 1, "]", depth + 1);
                (
                    Val::many(a.pos.into_iter().flat_map(|p| if p.any.is_empty() { vec![UNK.to_string()] } else { p.any }).collect()),
                    n,
                    String::new(),
                )
            }
            // a table, or a block that is handed over: one argument
            Tok::Op(o) if o == "{" && self.lang == Lang::Perl => {
                let (_, n) = self.args(t, i + 1, "}", depth + 1);
                return (Val::default(), n);
            }
            Tok::Op(o) if o == "{" && self.lang == Lang::Python => {
                // a dictionary: any of its members
                let (a, n) = self.args(t, i + 1, "}", depth + 1);
                (Val::many(a.pos.into_iter().flat_map(|p| p.any).collect()), n, String::new())
            }
            Tok::Op(o) if matches!(o.as_str(), "!" | "-" | "$" | "@" | "\\" | "&" | "*" | "..." | "~") => {
                let (v, n) = self.primary(t, i + 1, depth + 1);
                return (v, n);
            }
            Tok::Op(o)
                if o == "<" && matches!(t.get(i + 1), Some(Tok::Name(n)) if n == "STDIN")
                    || Self::op(t, i, "<") && Self::op(t, i + 1, ">") =>
            {
                let v = self.host.name(if Self::op(t, i + 1, ">") { "<>" } else { "STDIN" }).unwrap_or_default();
                let end = (i..(i + 4).min(t.len())).find(|k| Self::op(t, *k, ">")).unwrap_or(i);
                // line by line
                let lines = v.any.iter().flat_map(|text| text.lines()).map(str::to_owned).take(400).collect();
                return (Val { any: lines, ..Val::default() }, end + 1);
            }
            Tok::Name(n) if KEYWORDS.contains(&n.as_str()) && !(self.vars.contains_key(n)) => {
                if n == "lambda" {
                    return (Val::default(), i + 1);
                }
                return self.primary(t, i + 1, depth + 1);
            }
            Tok::Name(n) => (self.vars.get(n).cloned().or_else(|| self.host.name(n)).unwrap_or_default(), i + 1, n.clone()),
            _ => return (Val::default(), i + 1),
        };
        loop {
            match t.get(k) {
                Some(Tok::Op(o)) if matches!(o.as_str(), "." | "->" | "::" | "?.") => {
                    // Perl and PHP join texts with a dot
                    if o == "." && matches!(self.lang, Lang::Perl | Lang::Php) {
                        break;
                    }
                    match t.get(k + 1) {
                        Some(Tok::Name(n)) => {
                            let n = n.clone();
                            let is_call = Self::op(t, k + 2, "(")
                                || self.lang == Lang::Ruby
                                    && (matches!(t.get(k + 2), Some(Tok::Str(_)))
                                        || matches!(path.as_str(), "FileUtils" | "File" | "IO" | "Dir")
                                            && matches!(t.get(k + 2), Some(Tok::Name(arg)) if !KEYWORDS.contains(&arg.as_str()))
                                        || path == "FileUtils" && Self::op(t, k + 2, "["));
                            let full = match v.function().filter(|_| self.lang == Lang::Python && path.is_empty()) {
                                Some(module) => format!("{module}.{n}"),
                                None if path.is_empty() => n.clone(),
                                None => format!("{path}.{n}"),
                            };
                            if !is_call {
                                // a method without brackets (Ruby), or a member
                                let got = self.host.name(&full).or_else(|| {
                                    if self.lang == Lang::Ruby || self.lang == Lang::Perl && o == "->" {
                                        self.method(&n, &full, &v, &Args::default())
                                    } else {
                                        None
                                    }
                                });
                                let keep = v.clone();
                                v = got.unwrap_or(Val {
                                    from: full.clone(),
                                    any: if matches!(n.as_str(), "parent" | "name" | "stem") { Vec::new() } else { keep.any },
                                    list: keep.list,
                                });
                                path = full;
                                k += 2;
                                // `list.each { |x| …`, `list.each do |x|`
                                if matches!(n.as_str(), "each" | "map" | "select" | "each_line" | "each_child") {
                                    k = self.block_names(t, k, &v);
                                }
                                continue;
                            }
                            let recv = v.clone();
                            let (a, next) = if Self::op(t, k + 2, "(") {
                                self.call_args(t, k + 3, depth, &n, &recv)
                            } else {
                                self.loose_args(t, k + 2, depth)
                            };
                            v = self.method(&n, &full, &recv, &a).unwrap_or_default();
                            path = String::new();
                            k = next;
                            if self.lang == Lang::Ruby {
                                k = self.block_names(t, k, &v);
                            }
                        }
                        // `$f->(…)`, `f.(…)`, `f?.(…)`
                        Some(Tok::Op(b)) if b == "(" => {
                            let (a, next) = self.args(t, k + 2, ")", depth + 1);
                            v = self.value_call(&v, &path, &a);
                            path = String::new();
                            k = next;
                        }
                        Some(Tok::Op(b)) if matches!(b.as_str(), "[" | "{" | "@") => k += 1,
                        _ => break,
                    }
                }
                Some(Tok::Op(o)) if o == "(" && !path.is_empty() => {
                    let (a, next) = self.args(t, k + 1, ")", depth + 1);
                    v = self.function(&path, &a).unwrap_or_default();
                    path = String::new();
                    k = next;
                }
                Some(Tok::Op(o)) if o == "(" && k > i + 1 && matches!(self.lang, Lang::Python | Lang::Node) => {
                    let (a, next) = self.args(t, k + 1, ")", depth + 1);
                    v = self.value_call(&v, "", &a);
                    k = next;
                }
                Some(Tok::Op(o))
                    if o == "["
                        || o == "{"
                            && self.lang == Lang::Perl
                            && !path.is_empty()
                            && matches!(t.get(k + 2), Some(Tok::Op(c)) if c == "}") =>
                {
                    let close = if o == "[" { "]" } else { "}" };
                    let (a, next) = self.args(t, k + 1, close, depth + 1);
                    let base = std::mem::take(&mut path);
                    let key = match (a.pos.first().and_then(|p| p.any.first()), a.raw.first()) {
                        (Some(k), _) => k.clone(),
                        (None, Some(Tok::Name(n))) => n.clone(),
                        _ => String::new(),
                    };
                    let slice = a.raw.iter().any(|x| matches!(x, Tok::Op(o) if o == ":"));
                    let named = !key.is_empty() && key.parse::<i64>().is_err() && !slice;
                    let member = base.strip_suffix(".__dict__").map(str::to_owned).or_else(|| {
                        if self.lang != Lang::Node {
                            None
                        } else if base.is_empty() {
                            // `require("fs")["unlinkSync"]`
                            v.function().map(str::to_owned)
                        } else {
                            Some(self.vars.get(&base).and_then(Val::function).map_or_else(|| base.clone(), str::to_owned))
                        }
                    });
                    v = match self.host.name(&format!("{base}[{key}]")) {
                        Some(x) => x,
                        None if named && !v.list && member.is_some() => {
                            Val { from: format!("{}.{key}", member.unwrap_or_default()), ..Val::default() }
                        }
                        None if slice && v.list => {
                            let from = key.parse::<usize>().unwrap_or(0);
                            Val::many(v.any.iter().skip(from).cloned().collect())
                        }
                        None if base.is_empty() && self.lang == Lang::Ruby && !v.list => Val::default(),
                        None => match key.parse::<usize>() {
                            Ok(n) if v.list && n < v.any.len() => Val::text(v.any[n].clone()),
                            _ if v.list => Val { any: v.any.clone(), ..Val::default() },
                            _ if base == "Dir" => Val::default(),
                            _ => Val::default(),
                        },
                    };
                    k = next;
                }
                // `unlink "x", "y";` without brackets
                Some(tok)
                    if (!matches!(tok, Tok::Op(o) if o != "\\") && !matches!(tok, Tok::Line | Tok::Run(_)))
                        && !path.is_empty()
                        && matches!(self.lang, Lang::Perl | Lang::Ruby | Lang::Php)
                        && self.takes_loose(&path, t, k) =>
                {
                    let (a, next) = self.loose_args(t, k, depth);
                    v = self.function(&path, &a).unwrap_or_default();
                    path = String::new();
                    k = next;
                }
                _ => break,
            }
        }
        if v.any.is_empty() && v.from.is_empty() && !path.is_empty() {
            v.from = format!("fn:{path}");
        }
        if k == i + 1 && self.lang == Lang::Perl && matches!(path.as_str(), "unlink" | "rmdir") {
            // without an argument it is about `$_`
            let it = self.vars.get("_").cloned().unwrap_or_default();
            self.function(&path, &Args { pos: vec![it], ..Args::default() });
        }
        if k == i + 1
            && !path.is_empty()
            && matches!(self.lang, Lang::Perl | Lang::Ruby)
            && matches!(path.as_str(), "shift" | "pop" | "gets")
            && let Some(x) = self.host.name(&path)
        {
            return (x, k);
        }
        (v, k)
    }

    /// A value is called.
    pub(super) fn value_call(&mut self, v: &Val, path: &str, a: &Args) -> Val {
        let name = v.function().map(str::to_owned).or_else(|| self.renames.get(path).cloned());
        match name {
            Some(name) => self.host.call(&name, None, a).unwrap_or_default(),
            None => {
                // without arguments it can only do what is written in the program itself
                if !a.pos.is_empty() {
                    self.host.reached();
                }
                Val::default()
            }
        }
    }

    pub(super) fn takes_loose(&self, path: &str, t: &[Tok], k: usize) -> bool {
        if KEYWORDS.contains(&path) {
            return false;
        }
        match &t[k] {
            Tok::Str(_) => true,
            Tok::Num(_) => matches!(path, "utime" | "chmod" | "chown"),
            // `store \%table, FILE`
            Tok::Op(o) => o == "\\" && matches!(path, "store" | "nstore" | "lock_store" | "lock_nstore"),
            Tok::Name(n) => {
                matches!(
                    path,
                    "open"
                        | "unlink"
                        | "rename"
                        | "mkdir"
                        | "rmdir"
                        | "system"
                        | "exec"
                        | "chdir"
                        | "copy"
                        | "move"
                        | "symlink"
                        | "link"
                        | "truncate"
                        | "rmtree"
                        | "remove_tree"
                        | "make_path"
                        | "mkpath"
                        | "utime"
                        | "chmod"
                        | "chown"
                        | "spit"
                        | "glob"
                        | "require"
                        | "do"
                        | "eval"
                        | "write_file"
                        | "include"
                        | "include_once"
                        | "require_once"
                        | "sysopen"
                        | "load"
                        | "tie"
                        | "dbmopen"
                        | "store"
                        | "nstore"
                        | "move_to"
                ) && (!KEYWORDS.contains(&n.as_str()) || matches!(n.as_str(), "my" | "our" | "local"))
            }
            _ => false,
        }
    }

    /// Arguments without brackets, to the end of the statement.
    pub(super) fn loose_args(&mut self, t: &[Tok], i: usize, depth: u32) -> (Args, usize) {
        let mut end = i;
        let mut level = 0i32;
        while end < t.len() {
            match &t[end] {
                Tok::Op(o) if matches!(o.as_str(), "(" | "[" | "{") => level += 1,
                Tok::Op(o) if matches!(o.as_str(), ")" | "]" | "}") => {
                    level -= 1;
                    if level < 0 {
                        break;
                    }
                }
                Tok::Op(o) if level == 0 && (o == ";" || o == "||" || o == "&&") => break,
                Tok::Line if level == 0 && !matches!(t.get(end.wrapping_sub(1)), Some(Tok::Op(o)) if o == ",") => break,
                Tok::Name(n) if level == 0 && matches!(n.as_str(), "or" | "and" | "if" | "unless" | "for" | "foreach" | "while" | "do") => {
                    break;
                }
                _ => {}
            }
            end += 1;
        }
        // an open brace that begins a block belongs to what follows
        let inner = t[i..end].to_vec();
        let (mut a, _) = self.args(&inner, 0, "\0", depth + 1);
        // `unlink for LIST`: without arguments it is about `$_`
        if self.lang == Lang::Perl
            && inner.is_empty()
            && let Some(topic) = self.vars.get("_")
        {
            a.pos = vec![topic.clone()];
        }
        (a, end)
    }

    pub(super) fn call_args(&mut self, t: &[Tok], i: usize, depth: u32, method: &str, recv: &Val) -> (Args, usize) {
        // `list.forEach(f => …)`: the name of the function's parameter holds each of them
        if matches!(method, "forEach" | "map" | "filter" | "each" | "some" | "every") {
            let mut k = i;
            while k < t.len() && k < i + 6 {
                match &t[k] {
                    Tok::Op(o) if o == "(" || o == "," || o == ")" => {}
                    Tok::Name(n) if n == "async" || n == "function" => {}
                    Tok::Name(n) => {
                        self.vars.insert(n.clone(), Val { any: recv.any.clone(), ..Val::default() });
                        break;
                    }
                    _ => break,
                }
                k += 1;
            }
        }
        self.args(t, i, ")", depth + 1)
    }

    /// `{ |x|` or `do |x|`
    pub(super) fn block_names(&mut self, t: &[Tok], k: usize, v: &Val) -> usize {
        let open = Self::op(t, k, "{") || matches!(t.get(k), Some(Tok::Name(n)) if n == "do");
        if open && Self::op(t, k + 1, "|") {
            if let Some(Tok::Name(n)) = t.get(k + 2) {
                self.vars.insert(n.clone(), Val { any: v.any.clone(), ..Val::default() });
            }
            return k + 3;
        }
        k
    }
}
