//! What a script takes in: `read`, `mapfile`, `getopts`.

use super::engine::{Engine, UNK};
use super::state::Shell;

/// Splits a line as `read` does: the last name gets the rest.
pub(super) fn split_ifs(line: &str, ifs: &str, max: usize) -> Vec<String> {
    let is = |c: char| ifs.contains(c);
    let blank = |c: char| ifs.contains(c) && c.is_whitespace();
    let mut rest = line.trim_start_matches(blank);
    let mut out = Vec::new();
    while !rest.is_empty() {
        if out.len() + 1 == max {
            out.push(rest.trim_end_matches(blank).to_owned());
            return out;
        }
        let end = rest.find(is).unwrap_or(rest.len());
        out.push(rest[..end].to_owned());
        rest = rest[end..].trim_start_matches(blank);
        if rest.starts_with(|c| is(c) && !blank(c)) {
            let n = rest.chars().next().map_or(0, char::len_utf8);
            rest = rest[n..].trim_start_matches(blank);
        }
    }
    out
}

impl Engine<'_> {
    pub(super) fn read(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let (mut array, mut fd, mut delim, mut raw, mut count) = (None, 0, '\n', false, None);
        let mut names: Vec<String> = Vec::new();
        let mut i = 0;
        while i < args.len() {
            let a = &args[i];
            if a == "--" {
                names.extend(args[i + 1..].iter().cloned());
                break;
            }
            if !a.starts_with('-') || a.len() < 2 {
                names.push(a.clone());
                i += 1;
                continue;
            }
            let letters: Vec<char> = a[1..].chars().collect();
            for (k, c) in letters.iter().enumerate() {
                if "adinNptu".contains(*c) {
                    let glued: String = letters[k + 1..].iter().collect();
                    let value = if glued.is_empty() {
                        i += 1;
                        args.get(i).cloned().unwrap_or_default()
                    } else {
                        glued
                    };
                    match c {
                        'a' => array = Some(value),
                        'd' => delim = value.chars().next().unwrap_or('\0'),
                        'n' | 'N' => count = value.parse::<usize>().ok(),
                        'u' => fd = value.parse().unwrap_or(0),
                        _ => {}
                    }
                    break;
                }
                raw |= *c == 'r';
            }
            i += 1;
        }
        let line = self.line(sh, fd, delim);
        let got = line.is_some();
        let mut line = line.unwrap_or_default();
        if let Some(n) = count {
            line = line.chars().take(n).collect();
        }
        if !raw && line.contains('\\') {
            let mut out = String::new();
            let mut it = line.chars();
            while let Some(c) = it.next() {
                out.push(if c == '\\' { it.next().unwrap_or('\\') } else { c });
            }
            line = out;
        }
        let ifs = self.var(sh, "IFS").unwrap_or_else(|| " \t\n".into());
        if let Some(a) = array {
            let items = split_ifs(&line, &ifs, usize::MAX);
            self.set_list(sh, &a, items);
        } else if names.is_empty() {
            self.assign(sh, "REPLY", line);
        } else {
            let items = split_ifs(&line, &ifs, names.len());
            let unknown = line.contains(UNK);
            for (k, n) in names.iter().enumerate() {
                let v = match items.get(k) {
                    Some(v) => v.clone(),
                    None if unknown => UNK.to_string(),
                    None => String::new(),
                };
                match n.split_once('[') {
                    Some((n, at)) => self.assign_at(sh, n, at.trim_end_matches(']'), v, false),
                    None => self.assign(sh, n, v),
                }
            }
        }
        Some(i32::from(!got))
    }

    pub(super) fn mapfile(&mut self, sh: &mut Shell, args: &[String]) {
        let mut name = "MAPFILE".to_owned();
        let (mut trim, mut fd, mut delim, mut skip, mut max) = (false, 0, '\n', 0usize, usize::MAX);
        let mut called: Option<String> = None;
        let mut i = 0;
        while i < args.len() {
            let a = &args[i];
            let value = |i: &mut usize| {
                if a.len() > 2 {
                    a[2..].to_owned()
                } else {
                    *i += 1;
                    args.get(*i).cloned().unwrap_or_default()
                }
            };
            match a.as_str() {
                "-t" => trim = true,
                a if a.starts_with("-d") => delim = value(&mut i).chars().next().unwrap_or('\0'),
                a if a.starts_with("-u") => fd = value(&mut i).parse().unwrap_or(0),
                a if a.starts_with("-s") => skip = value(&mut i).parse().unwrap_or(0),
                a if a.starts_with("-n") => max = value(&mut i).parse().unwrap_or(usize::MAX),
                a if a.starts_with("-C") => called = Some(value(&mut i)),
                a if a.starts_with("-c") || a.starts_with("-O") => {
                    value(&mut i);
                }
                a => name = a.to_owned(),
            }
            i += 1;
        }
        let mut items = Vec::new();
        while let Some(l) = self.line(sh, fd, delim) {
            if items.len() > 4000 {
                break;
            }
            items.push(if trim { l } else { format!("{l}{delim}") });
        }
        let items: Vec<String> = items.into_iter().skip(skip).take(if max == 0 { usize::MAX } else { max }).collect();
        if let Some(called) = called {
            // called with the index and the line, after so many lines; that it is called at all is what matters
            for (n, line) in items.iter().enumerate().take(64) {
                self.script(sh, &format!("{called} {n} '{}'", line.replace('\'', "'\\''")));
            }
        }
        self.set_list(sh, &name, items);
    }

    pub(super) fn getopts(&mut self, sh: &mut Shell, args: &[String]) -> Option<i32> {
        let (Some(spec), Some(name)) = (args.first(), args.get(1)) else { return Some(1) };
        let list: Vec<String> = if args.len() > 2 { args[2..].to_vec() } else { sh.args.clone() };
        let set = self.var(sh, "OPTIND").and_then(|v| v.parse::<usize>().ok()).unwrap_or(1);
        let mut pos = if sh.getopts / 1000 == set { sh.getopts % 1000 } else { 1 };
        let mut ind = set;
        let end = |e: &mut Self, sh: &mut Shell, ind: usize| {
            e.assign(sh, name, "?".into());
            e.assign(sh, "OPTIND", ind.to_string());
            Some(1)
        };
        let Some(word) = list.get(ind - 1) else { return end(self, sh, ind) };
        if word == "--" {
            return end(self, sh, ind + 1);
        }
        if !word.starts_with('-') || word.len() < 2 {
            return end(self, sh, ind);
        }
        let letters: Vec<char> = word.chars().collect();
        let c = letters.get(pos).copied().unwrap_or('?');
        pos += 1;
        let takes = spec.find(c).is_some_and(|i| spec[i + c.len_utf8()..].starts_with(':'));
        if takes {
            let glued: String = letters[pos.min(letters.len())..].iter().collect();
            if glued.is_empty() {
                let v = list.get(ind).cloned().unwrap_or_default();
                self.assign(sh, "OPTARG", v);
                ind += 2;
            } else {
                self.assign(sh, "OPTARG", glued);
                ind += 1;
            }
            pos = 1;
        } else if pos >= letters.len() {
            ind += 1;
            pos = 1;
        }
        let known = c != ':' && spec.contains(c);
        self.assign(sh, name, if known { c.to_string() } else { "?".into() });
        self.assign(sh, "OPTIND", ind.to_string());
        sh.getopts = ind * 1000 + pos;
        Some(0)
    }
}
