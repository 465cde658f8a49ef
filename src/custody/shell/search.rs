//! What `ls` and `grep` print.

use super::Kind;
use super::deeds::fd_path;
use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::join;
use super::regex::{self, Flavor, Regex};
use super::state::Shell;

/// Most lines or files that are looked at.
const MAX_LINES: usize = 4000;

impl Engine<'_> {
    pub(super) fn ls(&mut self, sh: &mut Shell, c: &Call) -> String {
        let all = c.has(&["-a", "-A", "--all", "--almost-all"]);
        let long = c.has(&["-l", "-g", "-o", "--format", "-s", "-i"]);
        let tail = if c.has(&["-p", "-F", "--classify", "--indicator-style"]) { "/" } else { "" };
        let dot = [".".to_owned()];
        let names: &[String] = if c.args.is_empty() { &dot } else { &c.args };
        let mut out = String::new();
        let line = |out: &mut String, n: &str| {
            if long {
                for _ in 0..8 {
                    out.push(UNK);
                    out.push(' ');
                }
            }
            out.push_str(n);
            out.push('\n');
        };
        let mut stack: Vec<(String, u32)> = Vec::new();
        for n in names {
            let full = self.full(sh, n);
            if full.contains(UNK) {
                out.push(UNK);
                continue;
            }
            match self.fs.what(&full) {
                Some(Kind::Dir) if !c.has(&["-d", "--directory"]) => stack.push((n.clone(), 0)),
                Some(_) => line(&mut out, n),
                None if self.fs.at(&full, false).kind.is_some() => line(&mut out, n),
                None => {}
            }
        }
        let headed = names.len() > 1 || c.has(&["-R", "--recursive"]);
        stack.reverse();
        let mut seen = 0;
        while let Some((dir, depth)) = stack.pop() {
            if headed {
                out.push_str(&format!("\n{dir}:\n"));
            }
            if long {
                out.push_str(&format!("total {UNK}\n"));
            }
            let full = self.full(sh, &dir);
            let Some(list) = self.fs.list(&full) else {
                out.push(UNK);
                continue;
            };
            for (n, k) in list.iter() {
                seen += 1;
                if n.starts_with('.') && !all || seen > MAX_LINES {
                    continue;
                }
                let mark = if *k == Kind::Dir { tail } else { "" };
                line(&mut out, &format!("{n}{mark}"));
                if *k == Kind::Dir && c.has(&["-R", "--recursive"]) && depth < 10 {
                    stack.push((join(&dir, n), depth + 1));
                }
            }
        }
        out
    }

    pub(super) fn grep(&mut self, sh: &mut Shell, c: &Call) -> String {
        let deep_tool = matches!(c.name.as_str(), "rg" | "ag" | "ack");
        let mut args = c.args.clone();
        let pats: Vec<String> = if c.has(&["-e", "--regexp"]) {
            c.values(&["-e", "--regexp"]).into_iter().map(str::to_owned).collect()
        } else if let Some(f) = c.value(&["-f", "--file"]) {
            let f = f.to_owned();
            self.content(sh, &f).lines().map(str::to_owned).collect()
        } else if c.has(&["--files"]) {
            vec![String::new()]
        } else if args.is_empty() {
            return String::new();
        } else {
            vec![args.remove(0)]
        };
        let fixed = c.has(&["-F", "--fixed-strings"]) || c.name == "fgrep";
        let flavor = if deep_tool || c.has(&["-E", "-P", "--extended-regexp", "--perl-regexp"]) || c.name == "egrep" {
            Flavor::Extended
        } else {
            Flavor::Basic
        };
        let fold = c.has(&["-i", "--ignore-case"]) || c.has(&["-S"]) && !pats.iter().any(|p| p.contains(char::is_uppercase));
        let res: Vec<Option<Regex>> = pats
            .iter()
            .map(|p| {
                let mut p = if fixed {
                    p.chars().fold(String::new(), |a, ch| {
                        if ch.is_alphanumeric() || ch == ' ' || "/_-<>=,;:@#%&!\"'~`".contains(ch) {
                            a + &ch.to_string()
                        } else {
                            format!("{a}[{}]", if ch == '\\' || ch == '^' { format!("\\{ch}") } else { ch.to_string() })
                        }
                    })
                } else {
                    p.clone()
                };
                if c.has(&["-w", "--word-regexp"]) {
                    p = format!("\\b{p}\\b");
                }
                if c.has(&["-x", "--line-regexp"]) {
                    p = format!("^{p}$");
                }
                regex::compile(&p, flavor, fold)
            })
            .collect();
        let invert = c.has(&["-v", "--invert-match"]);
        // a line that is not known, or an expression that is not, counts as a hit
        let hit = |l: &str| {
            if l.contains(UNK) {
                return true;
            }
            let any = res.iter().any(|r| r.as_ref().is_some_and(|r| r.is_match(l)));
            any != invert || res.iter().any(Option::is_none)
        };
        let deep = deep_tool || c.has(&["-r", "-R", "--recursive", "--dereference-recursive"]);
        let stdin = args.is_empty() && (!deep || deep_tool && self.has_input(sh));
        let sep = if c.has(&["-Z", "--null", "-0"]) { "\0" } else { "\n" };
        if stdin {
            let t = self.take(sh, 0);
            let lines: Vec<&str> = if c.has(&["-z", "--null-data"]) { t.split('\0').collect() } else { t.lines().collect() };
            let found: Vec<&str> = lines.into_iter().filter(|l| hit(l)).collect();
            if !t.contains(UNK) && res.iter().all(Option::is_some) {
                sh.status = Some(i32::from(found.is_empty()));
            }
            if c.has(&["-q", "--quiet", "--silent"]) {
                return String::new();
            }
            if c.has(&["-c", "--count"]) {
                return format!("{}\n", found.len());
            }
            if c.has(&["-o", "--only-matching"]) {
                let mut out = String::new();
                for l in found {
                    let chars: Vec<char> = l.chars().collect();
                    for r in res.iter().flatten() {
                        let mut from = 0;
                        while let Some((a, b)) = r.find(&chars, from).and_then(|m| m[0]) {
                            if b > a {
                                out.extend(&chars[a..b]);
                                out.push('\n');
                            }
                            from = if b > a { b } else { b + 1 };
                            if from > chars.len() {
                                break;
                            }
                        }
                    }
                }
                return out;
            }
            let eol = if c.has(&["-z", "--null-data"]) { "\0" } else { "\n" };
            return found.iter().fold(String::new(), |a, l| a + l + eol);
        }
        let names = self.grep_files(sh, c, &args, deep, deep_tool);
        let list = c.has(&["-l", "--files-with-matches", "-L", "--files-without-match", "--files"]);
        let many = names.len() > 1 || deep;
        let mut out = String::new();
        let mut any = false;
        let mut sure = res.iter().all(Option::is_some);
        for n in names {
            if c.has(&["--files"]) {
                out.push_str(&n);
                out.push_str(sep);
                continue;
            }
            let t = self.content(sh, &n);
            if !self.spend(t.len() * 4) {
                return UNK.to_string();
            }
            sure &= !t.contains(UNK);
            let found: Vec<&str> = t.lines().filter(|l| hit(l)).collect();
            any |= !found.is_empty();
            if list {
                if found.is_empty() == c.has(&["-L", "--files-without-match"]) {
                    out.push_str(&n);
                    out.push_str(sep);
                }
                continue;
            }
            if c.has(&["-c", "--count"]) {
                out.push_str(&if many { format!("{n}:{}\n", found.len()) } else { format!("{}\n", found.len()) });
                continue;
            }
            for l in found {
                if many && !c.has(&["-h", "--no-filename"]) {
                    out.push_str(&n);
                    out.push(':');
                }
                if c.has(&["-n", "--line-number"]) {
                    out.push(UNK);
                    out.push(':');
                }
                out.push_str(l);
                out.push('\n');
            }
        }
        if sure {
            sh.status = Some(i32::from(!any));
        }
        if c.has(&["-q", "--quiet", "--silent"]) { String::new() } else { out }
    }

    pub(super) fn grep_files(&mut self, sh: &mut Shell, c: &Call, args: &[String], deep: bool, skip_hidden: bool) -> Vec<String> {
        let mut out = Vec::new();
        let include: Vec<String> = c.values(&["--include", "-g", "--glob"]).into_iter().map(str::to_owned).collect();
        let exclude: Vec<String> = c.values(&["--exclude"]).into_iter().map(str::to_owned).collect();
        let dirs: Vec<String> = c.values(&["--exclude-dir"]).into_iter().map(str::to_owned).collect();
        let wanted = |n: &str| {
            (include.iter().all(|g| g.starts_with('!')) || include.iter().any(|g| super::pattern::matches(g.trim_start_matches("**/"), n)))
                && !exclude.iter().any(|g| super::pattern::matches(g, n))
                && !include.iter().any(|g| g.strip_prefix('!').is_some_and(|g| super::pattern::matches(g.trim_start_matches("**/"), n)))
        };
        let here = [String::new()];
        let starts: &[String] = if args.is_empty() { &here } else { args };
        let mut stack: Vec<(String, u32)> = starts.iter().rev().map(|s| (s.clone(), 0)).collect();
        let mut seen = 0;
        while let Some((n, depth)) = stack.pop() {
            seen += 1;
            if seen > MAX_LINES {
                self.unknown("too many files", "grep");
                break;
            }
            let full = if n.is_empty() { sh.cwd.clone() } else { self.full(sh, &n) };
            if self.fs.is_dir(&full) && fd_path(&full).is_none() {
                if !deep || depth > 20 {
                    continue;
                }
                let Some(list) = self.fs.list(&full) else { continue };
                for (name, k) in list.iter().rev() {
                    let p = if n.is_empty() { name.clone() } else { join(&n, name) };
                    match k {
                        Kind::Dir
                            if !(skip_hidden && name.starts_with('.'))
                                && name != ".git"
                                && !dirs.iter().any(|d| super::pattern::matches(d, name)) =>
                        {
                            stack.push((p, depth + 1))
                        }
                        Kind::File if wanted(name) && !(skip_hidden && name.starts_with('.')) => stack.push((p, depth + 1)),
                        _ => {}
                    }
                }
            } else {
                out.push(n);
            }
        }
        out
    }
}
