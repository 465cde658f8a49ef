//! Programs that run another one for each of a list of words: `xargs`, `parallel`.

use super::engine::Engine;
use super::options::parse;
use super::picture;
use super::state::{Fd, Shell};

/// Words as `xargs` reads them: blanks part, quotes and backslashes join.
pub(super) fn quoted_words(text: &str, blanks: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut cur: Option<String> = None;
    let mut it = text.chars();
    while let Some(ch) = it.next() {
        match ch {
            '\'' | '"' => {
                let c = cur.get_or_insert_default();
                for x in it.by_ref() {
                    if x == ch {
                        break;
                    }
                    c.push(x);
                }
            }
            '\\' => {
                if let Some(x) = it.next() {
                    cur.get_or_insert_default().push(x);
                }
            }
            '\n' => out.extend(cur.take()),
            c if blanks && c.is_whitespace() => out.extend(cur.take()),
            c => cur.get_or_insert_default().push(c),
        }
    }
    out.extend(cur);
    out
}

impl Engine<'_> {
    pub(super) fn xargs(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = ". -a: --arg-file: -d: --delimiter: -E: -e:: -I: -i:: --replace:: -L: -l:: -n: --max-args: -P: --max-procs: -s: --max-chars: --max-lines:: --process-slot-var:";
        let c = parse(marks, argv);
        let text = match c.value(&["-a", "--arg-file"]) {
            Some(f) => {
                let f = f.to_owned();
                self.content(sh, &f)
            }
            None => self.take(sh, 0),
        };
        let replace = c
            .opts
            .iter()
            .rev()
            .find(|(o, _)| matches!(o.as_str(), "-I" | "-i" | "--replace"))
            .map(|(_, v)| v.clone().unwrap_or_else(|| "{}".into()));
        let items: Vec<String> = if c.has(&["-0", "--null"]) {
            text.split('\0').filter(|s| !s.is_empty()).map(str::to_owned).collect()
        } else if let Some(d) = c.value(&["-d", "--delimiter"]) {
            let d = match d {
                "\\n" => '\n',
                "\\0" => '\0',
                "\\t" => '\t',
                d => d.chars().next().unwrap_or('\n'),
            };
            text.strip_suffix(d).unwrap_or(&text).split(d).map(str::to_owned).filter(|s| !s.is_empty() && *s != "\n").collect()
        } else if replace.is_some() {
            text.lines().map(|l| l.trim_start().to_owned()).filter(|l| !l.is_empty()).map(|l| quoted_words(&l, false).join(" ")).collect()
        } else if c.has(&["-L", "-l", "--max-lines"]) {
            text.lines().filter(|l| !l.trim().is_empty()).map(str::to_owned).collect()
        } else {
            quoted_words(&text, true)
        };
        let mut command = c.args.clone();
        if command.is_empty() {
            command.push("echo".into());
        }
        let mut sub = sh.clone();
        if c.value(&["-a", "--arg-file"]).is_none() {
            sub.set_fd(0, Fd::Null);
        }
        if items.is_empty() {
            if !c.has(&["-r", "--no-run-if-empty"]) && replace.is_none() {
                self.call(&mut sub, command, false);
            }
            return;
        }
        if let Some(r) = replace {
            for item in items.iter().take(500) {
                let words = command.iter().map(|w| if r.is_empty() { w.clone() } else { w.replace(&r, item) }).collect();
                self.call(&mut sub, words, false);
            }
        } else if c.has(&["-L", "-l", "--max-lines"]) {
            for item in items.iter().take(500) {
                let mut words = command.clone();
                words.extend(quoted_words(item, true));
                self.call(&mut sub, words, false);
            }
        } else {
            let n = c.value(&["-n", "--max-args"]).and_then(|n| n.parse().ok()).filter(|n| *n > 0).unwrap_or(5000);
            for chunk in items.chunks(n).take(500) {
                let mut words = command.clone();
                words.extend(chunk.iter().cloned());
                self.call(&mut sub, words, false);
            }
        }
        if items.len() > 500 {
            self.unknown("too many words", "xargs");
        }
        sh.status = None;
    }

    pub(super) fn parallel(&mut self, sh: &mut Shell, argv: &[String]) {
        // moreutils' `parallel -j 4 command -- args`, GNU's `parallel command ::: args`
        let marks =
            ". -j: --jobs: -a: --arg-file: -n: -N: -L: -I: --colsep: -C: --delay: --timeout: --joblog:W --results:d -S: --tmpdir: -d: -l:";
        let c = parse(marks, argv);
        self.effects(sh, marks, &c);
        let mut command: Vec<String> = Vec::new();
        let mut items: Vec<String> = Vec::new();
        let mut seen = false;
        for a in &c.args {
            if matches!(a.as_str(), ":::" | ":::+" | "--") {
                seen = true;
            } else if a == "::::" {
                seen = true;
                self.unknown("a list of words can't be read", a);
            } else if seen {
                items.push(a.clone());
            } else {
                command.push(a.clone());
            }
        }
        let mut lines: Vec<String> = Vec::new();
        if seen && command.is_empty() {
            lines = items.clone();
        }
        if !seen {
            let text = match c.value(&["-a", "--arg-file"]) {
                Some(f) => {
                    let f = f.to_owned();
                    self.content(sh, &f)
                }
                None => self.take(sh, 0),
            };
            items = text.lines().map(str::to_owned).collect();
            if command.is_empty() {
                lines = items.clone();
            }
        }
        if lines.is_empty() {
            for item in items.iter().take(300) {
                let joined = command.join(" ");
                let base = picture::split(item).1.to_owned();
                let stem = item.rsplit_once('.').map_or(item.as_str(), |x| x.0).to_owned();
                let forms = [
                    ("{}", item.clone()),
                    ("{.}", stem),
                    ("{/}", base),
                    ("{//}", picture::split(item).0.to_owned()),
                    ("{1}", item.clone()),
                ];
                let mut line = joined.clone();
                for (k, v) in &forms {
                    line = line.replace(k, v);
                }
                if line == joined {
                    line.push(' ');
                    line.push_str(item);
                }
                lines.push(line);
            }
        }
        for l in lines.iter().take(300) {
            self.effect(sh, 'Y', l, false);
        }
    }
}
