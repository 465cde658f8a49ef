//! `npm run` and its like: what `package.json` says to run.

use super::engine::{Engine, UNK};
use super::state::Shell;

impl Engine<'_> {
    /// `npm run NAME` and its like; anything else is a program that can do anything.
    pub(crate) fn npm(&mut self, sh: &mut Shell, argv: &[String]) {
        let c = super::options::parse("--prefix: -C: --workspace: -w: --registry: --cwd: --loglevel: -c: --call: --package:", argv);
        if c.args.is_empty() && c.has(&["--version", "-v", "--help", "-h"]) || c.has(&["--help"]) {
            return;
        }
        let mut sub = self.child(sh, true);
        if let Some(d) = c.value(&["--prefix", "-C", "--cwd"]) {
            sub.cwd = self.full(sh, d);
        }
        let verb = c.args.first().map_or("", String::as_str).to_owned();
        let name = match verb.as_str() {
            "run" | "run-script" => c.args.get(1).cloned(),
            "test" | "start" | "stop" | "restart" | "t" | "tst" => Some(if verb.starts_with('t') { "test".into() } else { verb.clone() }),
            "ls" | "list" | "view" | "info" | "outdated" | "search" | "help" | "whoami" | "ping" | "root" | "bin" | "audit" | "explain"
            | "why" | "pkg" | "prefix" | "version" => {
                self.put(sh, 1, &UNK.to_string());
                return;
            }
            "exec" | "x" | "dlx" if c.value(&["-c", "--call"]).is_some() => {
                let script = c.value(&["-c", "--call"]).unwrap_or("").to_owned();
                self.effect(&mut sub, 'Y', &script, false);
                return;
            }
            "exec" | "x" | "dlx" => {
                let rest: Vec<String> = c.args[1..].to_vec();
                self.call(&mut sub, rest, false);
                return;
            }
            v if argv[0].ends_with("yarn") || argv[0].ends_with("pnpm") => Some(v.to_owned()),
            _ => None,
        };
        let Some(name) = name else {
            self.unknown("a program that can do anything", "npm");
            return;
        };
        let text = self.content(&sub, "package.json");
        let scripts = scripts(&text);
        let mut any = false;
        for n in [format!("pre{name}"), name.clone(), format!("post{name}")] {
            if let Some(s) = scripts.iter().find(|(k, _)| *k == n).map(|x| x.1.clone()) {
                any = true;
                let mut child = self.child(&sub, true);
                let extra: Vec<String> = if n == name {
                    c.args
                        .iter()
                        .skip(if verb.starts_with("run") { 2 } else { 1 })
                        .map(|a| format!("'{}'", a.replace('\'', "'\\''")))
                        .collect()
                } else {
                    Vec::new()
                };
                let line = if extra.is_empty() { s } else { format!("{s} {}", extra.join(" ")) };
                self.script(&mut child, &line);
                self.end(&mut child);
            }
        }
        if !(any || text.contains("\"scripts\"") && verb.starts_with("run")) {
            self.unknown("a program that can do anything", "npm");
        }
        self.put(sh, 1, &UNK.to_string());
    }
}

/// The scripts of a `package.json`: names and texts. No full reader of the format is needed for that.
fn scripts(text: &str) -> Vec<(String, String)> {
    let Some(i) = text.find("\"scripts\"") else { return Vec::new() };
    let Some(open) = text[i..].find('{') else { return Vec::new() };
    let c: Vec<char> = text[i + open + 1..].chars().collect();
    let mut out = Vec::new();
    let mut strings = Vec::new();
    let mut k = 0;
    while k < c.len() && c[k] != '}' {
        if c[k] == '"' {
            let start = k + 1;
            k += 1;
            while k < c.len() && c[k] != '"' {
                if c[k] == '\\' {
                    k += 1;
                }
                k += 1;
            }
            strings.push(super::words::ansi_c(&c[start.min(c.len())..k.min(c.len())]).replace("\\/", "/"));
        }
        k += 1;
    }
    for p in strings.chunks(2) {
        if let [a, b] = p {
            out.push((a.clone(), b.clone()));
        }
    }
    out
}
