//! Functions of a program itself and methods of texts and lists; what is left is asked of the host.

use super::engine::UNK;
use super::lex::Lang;
use super::scan::{Args, Val, Walk};

impl Walk<'_> {
    pub(super) fn function(&mut self, name: &str, a: &Args) -> Option<Val> {
        if let Some(params) = self.defs.get(name).cloned() {
            for (p, v) in params.iter().zip(&a.pos) {
                let old = self.vars.get(p).cloned().unwrap_or_default();
                let new = old.or(v.clone());
                self.vars.insert(p.clone(), new);
                self.assigned.insert(p.clone());
            }
            return None;
        }
        let real = self.renames.get(name).cloned().or_else(|| self.vars.get(name).and_then(Val::function).map(str::to_owned));
        if self.lang == Lang::Php
            && let Some(text) = self.vars.get(name).and_then(|v| v.any.first()).cloned()
        {
            return self.host.call(&text, None, a);
        }
        self.host.call(real.as_deref().unwrap_or(name), None, a)
    }

    pub(super) fn method(&mut self, name: &str, full: &str, recv: &Val, a: &Args) -> Option<Val> {
        let map = |f: &dyn Fn(&str) -> String| {
            Some(Val {
                any: recv.any.iter().map(|x| if x.contains(UNK) { x.clone() } else { f(x) }).collect(),
                list: recv.list,
                from: recv.from.clone(),
            })
        };
        let known = !recv.any.is_empty();
        let first = a.pos.first().and_then(|p| p.any.first()).cloned();
        match name {
            "strip" | "trim" | "chomp" | "rstrip" | "lstrip" | "trimEnd" | "trimStart" if known && !full.contains("fs.") => {
                map(&|x| x.trim().to_owned())
            }
            "upper" | "toUpperCase" | "upcase" if known => map(&str::to_uppercase),
            "lower" | "toLowerCase" | "downcase" if known => map(&str::to_lowercase),
            "replace" | "sub" | "gsub" | "replaceAll" if known && a.pos.len() == 2 && recv.from != "path" => {
                let (x, y) = (first?, a.pos[1].any.first().cloned()?);
                map(&|s| s.replace(&x, &y))
            }
            "join" if self.lang == Lang::Python && known && !full.contains("path") => {
                let sep = recv.any[0].clone();
                Some(Val::text(a.pos.first().map(|p| p.any.join(&sep)).unwrap_or_default()))
            }
            "join" if self.lang != Lang::Python && recv.list && full != "path.join" && full != "File.join" => {
                Some(Val::text(recv.any.join(&first.unwrap_or_else(|| if self.lang == Lang::Node { ",".into() } else { String::new() }))))
            }
            "format" if known && self.lang == Lang::Python => {
                let args: Vec<String> = a.pos.iter().map(|p| p.any.first().cloned().unwrap_or_else(|| UNK.to_string())).collect();
                map(&|s| {
                    let mut out = s.to_owned();
                    for (k, v) in args.iter().enumerate() {
                        out = out.replace(&format!("{{{k}}}"), v).replacen("{}", v, 1);
                    }
                    for (n, v) in &a.named {
                        out = out.replace(&format!("{{{n}}}"), v.any.first().map_or("?", String::as_str));
                    }
                    out
                })
            }
            "split" | "splitlines" | "lines" | "readlines" | "split_lines" if known => {
                let mut out = Vec::new();
                for s in &recv.any {
                    match (&first, name) {
                        (Some(sep), "split") if !sep.is_empty() => out.extend(s.split(sep.as_str()).map(str::to_owned)),
                        (None, "split") => out.extend(s.split_whitespace().map(str::to_owned)),
                        _ => out.extend(s.lines().map(str::to_owned)),
                    }
                }
                out.truncate(400);
                Some(Val::many(out))
            }
            "decode" | "encode" | "toString" | "to_s" | "as_posix" | "resolve" | "absolute" | "expanduser" | "to_path" | "flat"
            | "sort" | "sorted" | "reverse" | "uniq" | "toArray" | "freeze" | "dup" | "copy"
                if known && self.host_knows_not(full) =>
            {
                Some(recv.clone())
            }
            "filter" if known && self.lang == Lang::Node && recv.list => Some(self.filtered(recv, &a.raw)),
            "concat" if known => {
                let r = a.pos.first().cloned().unwrap_or_default();
                Some(recv.join(&r, ""))
            }
            _ => {
                if self.defs.contains_key(name) {
                    return self.function(name, a);
                }
                // a module by another name
                let real = full.split_once('.').and_then(|(head, rest)| Some(format!("{}.{rest}", self.renames.get(head)?)));
                self.host.call(real.as_deref().unwrap_or(full), Some(recv), a)
            }
        }
    }

    pub(super) fn host_knows_not(&self, full: &str) -> bool {
        !full.starts_with("shutil") && !full.starts_with("fs") && !full.starts_with("path.")
    }
}
