//! Programs that fetch or make whole files: `curl`, `wget`, `ffmpeg`.

use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{self, join};
use super::state::Shell;

/// The file that an address of the `file:` kind names.
pub(super) fn local_file(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("file://")?;
    rest.strip_prefix("localhost").or_else(|| rest.strip_prefix("127.0.0.1")).unwrap_or(rest).starts_with('/').then_some(())?;
    rest.find('/').map(|i| &rest[i..])
}

impl Engine<'_> {
    pub(crate) fn curl(&mut self, sh: &mut Shell, marks: &str, c: &Call, argv: &[String]) {
        let dir = c.value(&["--output-dir"]).map(str::to_owned);
        let place = |p: &str| dir.as_deref().map_or_else(|| p.to_owned(), |d| join(d, p));
        for (o, v) in &c.opts {
            if let (true, Some(v)) = (matches!(o.as_str(), "-o" | "--output"), v) {
                // `#1` stands for what a glob in the address matched
                let v = match v.find('#') {
                    Some(i) if v[i + 1..].starts_with(|ch: char| ch.is_ascii_digit()) => format!("{}{UNK}", &v[..i]),
                    _ => v.clone(),
                };
                let p = place(&v);
                self.effect(sh, 'W', &p, false);
            }
        }
        if c.has(&["-O", "--remote-name", "--remote-name-all", "-J"]) {
            let urls: Vec<String> = c.args.iter().cloned().chain(c.values(&["--url"]).into_iter().map(str::to_owned)).collect();
            for u in urls {
                let path = u.split(['?', '#']).next().unwrap_or("");
                let n = path.rsplit('/').next().unwrap_or("").to_owned();
                if !n.is_empty() {
                    let p = place(&n);
                    self.effect(sh, 'W', &p, false);
                }
            }
        }
        let mut rest = c.clone();
        rest.opts.retain(|(o, _)| o != "-o" && o != "--output");
        self.effects(sh, marks, &rest);
        if c.has(&["-T", "--upload-file"]) {
            for url in c.args.iter().map(String::as_str).chain(c.values(&["--url"])).map(str::to_owned).collect::<Vec<_>>() {
                if let Some(path) = local_file(&url) {
                    let name = c.value(&["-T", "--upload-file"]).map_or("", |from| picture::split(from).1);
                    let path = if path.ends_with('/') { join(path, name) } else { path.to_owned() };
                    self.effect(sh, 'W', &path, false);
                }
            }
        }
        if let Some(k) = c.value(&["-K", "--config"]) {
            let t = if k == "-" { self.take(sh, 0) } else { self.content(sh, k) };
            for line in t.lines() {
                let line = line.trim().trim_start_matches('-');
                let (name, v) = line.split_once(['=', ':', ' ']).unwrap_or((line, ""));
                let v = v.trim_start_matches(['=', ':', ' ']).trim_matches('"').to_owned();
                let name = name.trim();
                // the row says which options name a file, in a list as well
                if let Some(e) = super::options::effect_of(marks, name) {
                    self.effect(sh, e, &v, false);
                }
                if matches!(name, "T" | "upload-file") {
                    self.unknown("where a list of options has a file go", k);
                }
            }
            if t.contains(UNK) {
                self.unknown("a list of options can't be read", k);
            }
        }
        if !c.has(&["-o", "--output", "-O", "--remote-name"]) {
            let file = argv.iter().find_map(|a| local_file(a)).map(str::to_owned);
            let text = file.map_or_else(|| UNK.to_string(), |f| self.content(sh, &f));
            self.put(sh, 1, &text);
        }
    }

    pub(crate) fn wget(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        self.effects(sh, marks, c);
        if c.has(&["--spider"]) {
            return;
        }
        let dir = c.value(&["-P", "--directory-prefix"]).map(str::to_owned);
        match c.value(&["-O", "--output-document"]) {
            Some("-") => self.put(sh, 1, &UNK.to_string()),
            Some(o) => {
                let o = o.to_owned();
                self.effect(sh, 'W', &o, false);
            }
            None => {
                for u in &c.args {
                    let path = u.split_once("://").map_or(u.as_str(), |x| x.1).split(['?', '#']).next().unwrap_or("");
                    let n = if path.contains('/') && !c.has(&["-r", "-m", "--recursive", "--mirror", "-x"]) {
                        path.rsplit('/').next().unwrap_or("")
                    } else {
                        ""
                    };
                    let n =
                        if n.is_empty() { if c.has(&["-r", "-m"]) { UNK.to_string() } else { "index.html".into() } } else { n.to_owned() };
                    let p = dir.as_deref().map_or_else(|| n.clone(), |d| join(d, &n));
                    self.effect(sh, 'W', &p, false);
                }
                if c.has(&["-i", "--input-file"]) {
                    self.effect(sh, 'd', dir.as_deref().unwrap_or("."), false);
                }
            }
        }
    }

    pub(crate) fn ffmpeg(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut i = 1;
        let mut out: Option<&String> = None;
        while i < argv.len() {
            let a = argv[i].as_str();
            if a == "-i" {
                i += 2;
                continue;
            }
            if a.starts_with('-') && a.len() > 1 {
                let flag = matches!(
                    a,
                    "-y" | "-n" | "-vn" | "-an" | "-sn" | "-hide_banner" | "-nostdin" | "-shortest" | "-stats" | "-nostats" | "-re"
                );
                i += if flag { 1 } else { 2 };
                continue;
            }
            out = argv.get(i);
            if let Some(o) = out {
                let o = match o.find('%') {
                    Some(p) => format!("{}{UNK}", &o[..p]),
                    None => o.clone(),
                };
                self.effect(sh, 'W', &o, false);
            }
            i += 1;
        }
        let _ = out;
    }
}
