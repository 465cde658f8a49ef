//! Editors that take their commands from the command line or their input: `ed`, `ex`, `vim`.

use super::engine::{Engine, UNK};
use super::options::Call;
use super::state::Shell;

impl Engine<'_> {
    pub(crate) fn ed(&mut self, sh: &mut Shell, c: &Call) {
        let mut file = c.args.iter().find(|a| *a != "-").cloned();
        let text = self.take(sh, 0);
        if let Some(cmd) = file.as_deref().and_then(|f| f.strip_prefix('!')).map(str::to_owned) {
            self.effect(sh, 'Y', &cmd, false);
        }
        if text.contains(UNK) {
            self.unknown("the editor's commands are not known", "ed");
        }
        let mut inserting = false;
        for line in text.lines() {
            if inserting {
                inserting = line != ".";
                continue;
            }
            self.editor_line(sh, line, &mut file, true);
            let last = line.trim_end().chars().last();
            inserting = matches!(last, Some('a' | 'i' | 'c'))
                && line.trim_end().chars().rev().skip(1).all(|c| c.is_ascii_digit() || ",$.;%/ +-".contains(c));
        }
    }

    /// One command of `ed` or `ex`.
    fn editor_line(&mut self, sh: &mut Shell, line: &str, file: &mut Option<String>, ed: bool) {
        // `cmd1 | cmd2`, but not in what goes to a shell
        if !ed
            && !line.contains('!')
            && let Some((a, b)) = line.split_once('|')
            && !a.ends_with('\\')
        {
            let (a, b) = (a.to_owned(), b.to_owned());
            self.editor_line(sh, &a, file, ed);
            self.editor_line(sh, &b, file, ed);
            return;
        }
        let mut t = line.trim().trim_start_matches(':').trim_start();
        // the range in front
        loop {
            let n = t.trim_start_matches(|c: char| c.is_ascii_digit() || ",$.;%+- '<>".contains(c));
            let n = match n.strip_prefix('/') {
                Some(r) if !n.starts_with("//") => match r.find('/') {
                    Some(i) => &r[i + 1..],
                    None => n,
                },
                _ => n,
            };
            if n.len() == t.len() {
                break;
            }
            t = n;
        }
        if let Some(rest) = t.strip_prefix("g/").or_else(|| t.strip_prefix("v/"))
            && let Some((_, cmd)) = rest.split_once('/')
        {
            let cmd = cmd.to_owned();
            return self.editor_line(sh, &cmd, file, ed);
        }
        if let Some(cmd) = t
            .strip_prefix('!')
            .or_else(|| t.strip_prefix("silent !"))
            .or_else(|| t.strip_prefix("sil !"))
            .or_else(|| t.strip_prefix("silent! !"))
        {
            self.effect(sh, 'Y', cmd, false);
            return;
        }
        let word: String = t.chars().take_while(char::is_ascii_alphabetic).collect();
        let rest = t[word.len()..].trim_start_matches('!').trim();
        match word.as_str() {
            "w" | "wq" | "W" | "write" | "x" | "xit" | "wa" | "wall" | "xa" | "xall" | "wqa" | "wqall" | "up" | "update" | "wn" | "sav"
            | "saveas" | "exit" => {
                if ed && (word == "x" || word == "exit") {
                    return;
                }
                let rest = if ed { rest.strip_prefix("q ").unwrap_or(rest) } else { rest };
                let rest = rest.trim_start_matches(">>").trim();
                if let Some(cmd) = rest.strip_prefix('!') {
                    self.effect(sh, 'Y', cmd, false);
                } else if rest.is_empty() {
                    if let Some(f) = file.clone() {
                        self.effect(sh, 'W', &f, false);
                    }
                } else {
                    let name = rest.replace('%', file.as_deref().unwrap_or(""));
                    self.effect(sh, 'W', &name, false);
                    if file.is_none() || word.starts_with("sav") {
                        *file = Some(name);
                    }
                }
            }
            "e" | "E" | "edit" | "f" | "file" | "enew" => {
                if let Some(cmd) = rest.strip_prefix('!') {
                    self.effect(sh, 'Y', cmd, false);
                } else if !rest.is_empty() {
                    *file = Some(rest.to_owned());
                }
            }
            "r" | "read" => {
                if let Some(cmd) = rest.strip_prefix('!') {
                    self.effect(sh, 'Y', cmd, false);
                }
            }
            "redi" | "redir" => {
                let to = rest.trim_start_matches(['>', '!']).trim().to_owned();
                if rest.starts_with('>') {
                    self.effect(sh, 'W', &to, false);
                }
            }
            "mks" | "mksession" | "mkv" | "mkvimrc" | "mkexrc" | "mkspell" | "wundo" | "wviminfo" | "wshada" if !rest.is_empty() => {
                self.effect(sh, 'W', rest, false);
            }
            "ha" | "hardcopy" => {
                if let Some(to) = rest.strip_prefix('>') {
                    self.effect(sh, 'W', to.trim(), false);
                }
            }
            "prof" | "profile" => {
                if let Some(to) = rest.strip_prefix("start ") {
                    self.effect(sh, 'W', to.trim(), false);
                }
            }
            "se" | "set" => {
                for (_, file) in rest
                    .split_whitespace()
                    .filter_map(|word| word.split_once('='))
                    .filter(|(name, _)| matches!(*name, "verbosefile" | "vfile"))
                {
                    self.effect(sh, 'W', file, false);
                }
            }
            "so" | "source" | "ru" | "runtime" | "luafile" | "pyfile" => {
                let text = self.content(sh, rest);
                for l in text.lines() {
                    self.editor_line(sh, l, file, ed);
                }
            }
            "call" | "let" | "echo" | "eval" | "execute" | "exe" | "lua" | "py" | "py3" | "python" | "perl" | "ruby" | "normal"
            | "norm" => {
                for (k, e) in [("writefile(", 'W'), ("system(", 'Y'), ("delete(", 'X'), ("mkdir(", 'D'), ("rename(", 'F')] {
                    if let Some(i) = t.find(k) {
                        let strings: Vec<&str> = t[i..].split(['\'', '"']).skip(1).step_by(2).collect();
                        let pick = if k == "writefile(" { strings.last() } else { strings.first() };
                        match pick {
                            Some(p) => {
                                let p = (*p).to_owned();
                                self.effect(sh, e, &p, false);
                            }
                            None => self.unknown("part of an editor's command is not known", t),
                        }
                    }
                }
                if matches!(word.as_str(), "execute" | "exe") {
                    let inner = rest.trim_matches(['"', '\'']).to_owned();
                    self.editor_line(sh, &inner, file, ed);
                }
                if matches!(word.as_str(), "lua" | "py" | "py3" | "python" | "perl" | "ruby") {
                    self.unknown("a program inside of an editor", t);
                }
            }
            "argdo" | "bufdo" | "windo" | "tabdo" | "silent" | "sil" | "keepalt" | "noautocmd" | "noa" | "global" => {
                let rest = rest.to_owned();
                self.editor_line(sh, &rest, file, ed);
            }
            _ => {}
        }
    }

    /// `dc`: what stands behind `!` is a command, unless it is a comparison.
    pub(crate) fn dc(&mut self, sh: &mut Shell, c: &Call) {
        let mut text = c.values(&["-e", "--expression"]).join("\n");
        for file in c.values(&["-f", "--file"]).into_iter().chain(c.args.iter().map(String::as_str)) {
            text = text + "\n" + &self.content(sh, file);
        }
        if text.is_empty() {
            text = self.take(sh, 0);
        }
        for script in text.lines().filter_map(|line| line.split_once('!')).map(|parts| parts.1) {
            if !script.starts_with(['<', '>', '=']) {
                self.effect(sh, 'Y', script, false);
            }
        }
        self.put(sh, 1, &UNK.to_string());
    }

    /// `m4`: `syscmd(…)` and `esyscmd(…)` run a command.
    pub(crate) fn m4(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        self.effects(sh, marks, c);
        let mut text = String::new();
        for file in &c.args {
            text = text + &self.content(sh, file) + "\n";
        }
        if c.args.is_empty() {
            text = self.take(sh, 0);
        }
        for (at, call) in text.match_indices("syscmd(") {
            let rest = &text[at + call.len()..];
            let script = rest.split(')').next().unwrap_or(rest).trim_matches(['`', '\'']);
            self.effect(sh, 'Y', script, false);
        }
        self.put(sh, 1, &UNK.to_string());
    }

    pub(crate) fn vim(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) {
        let mut lines: Vec<String> = Vec::new();
        let mut all: Vec<String> = Vec::new();
        let mut silent = c.name == "ex" || c.name == "exim";
        let (mut readonly, mut no_swap, mut keys) = (c.name == "view", false, false);
        let mut i = 1;
        while i < argv.len() {
            let a = argv[i].as_str();
            if a == "--" {
                all.extend(argv[i + 1..].iter().cloned());
                break;
            }
            if let Some(cmd) = a.strip_prefix('+') {
                lines.push(cmd.to_owned());
            } else if a == "--cmd" {
                i += 1;
                lines.extend(argv.get(i).cloned());
            } else if a == "--version" || a == "--help" {
                return;
            } else if let Some(letters) = a.strip_prefix('-').filter(|l| !l.is_empty() && !l.starts_with('-')) {
                let letters: Vec<char> = letters.chars().collect();
                for (k, ch) in letters.iter().enumerate() {
                    let glued: String = letters[k + 1..].iter().collect();
                    let takes = matches!(ch, 'c' | 'u' | 'U' | 'S' | 'i' | 'T' | 'w' | 'W' | 't' | 'q') || *ch == 's' && !silent;
                    if *ch == 'V' {
                        // `-V1FILE`: what it does is told there
                        let file = glued.trim_start_matches(|digit: char| digit.is_ascii_digit());
                        self.effect(sh, 'W', file, false);
                        break;
                    }
                    if !takes {
                        silent |= matches!(ch, 'e' | 'E');
                        readonly |= *ch == 'R';
                        no_swap |= *ch == 'n';
                        continue;
                    }
                    let v = if glued.is_empty() {
                        i += 1;
                        argv.get(i).cloned().unwrap_or_default()
                    } else {
                        glued
                    };
                    match ch {
                        'c' => lines.push(v),
                        'S' => lines.extend(self.content(sh, &v).lines().map(str::to_owned)),
                        'u' | 'U' if !matches!(v.as_str(), "NONE" | "NORC" | "DEFAULTS") => {
                            let text = self.content(sh, &v);
                            if text.contains(UNK) {
                                self.unknown("the editor's settings are not known", &v);
                            }
                            lines.extend(text.lines().map(str::to_owned));
                        }
                        'w' | 'W' => self.effect(sh, 'W', &v, false),
                        's' => keys = true,
                        _ => {}
                    }
                    break;
                }
            } else if a != "-" {
                all.push(a.to_owned());
            }
            i += 1;
        }
        let mut file = all.first().cloned();
        if silent {
            let text = self.take(sh, 0);
            if text.contains(UNK) {
                self.unknown("the editor's commands are not known", &c.name);
            }
            lines.extend(text.lines().map(str::to_owned));
        }
        if !readonly && !no_swap {
            // a swap file is made beside the file while it is open
            if let Some(f) = &file {
                let (dir, name) = super::picture::split(f);
                let swap = super::picture::join(dir, &format!(".{name}.swp"));
                if self.exists(sh, dir) {
                    self.act(sh, super::super::act::ActKind::Create, &swap, false, false);
                }
            }
        }
        for l in lines {
            let bare = l.trim_start_matches(':');
            if readonly && bare.starts_with(['w', 'x']) && l.split_whitespace().count() < 2 && !l.contains('!') {
                continue;
            }
            if ["argdo", "wa", "xa", "wqa", "bufdo"].iter().any(|k| bare.starts_with(k)) {
                for f in &all {
                    let mut f = Some(f.clone());
                    self.editor_line(sh, &l, &mut f, false);
                }
            } else {
                self.editor_line(sh, &l, &mut file, false);
            }
        }
        if keys {
            self.unknown("the editor's keys are not known", &c.name);
        }
    }
}
