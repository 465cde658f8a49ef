//! `find`, walked over the picture of the disk with its expression, and `fd`.

use super::engine::{Engine, UNK};
use super::picture::{self, NANOS, join};
use super::regex::{self, Flavor};
use super::seekexpr::{Expr, Parser, acts, moment};
use super::state::Shell;
use super::{Kind, Meta, pattern};

/// Most entries that one walk visits.
const MAX_VISITS: usize = 4000;

#[derive(Default)]
pub(super) struct Walk {
    collected: Vec<(usize, Vec<String>, Vec<String>)>,
    pub(super) out: String,
    visits: usize,
    quit: bool,
    pub(super) follow: bool,
    metas: bool,
    extended: bool,
    pub(super) max: usize,
    pub(super) min: usize,
    pub(super) post: bool,
}

pub(super) struct Entry<'a> {
    cwd: &'a str,
    path: &'a str,
    pub(super) name: &'a str,
    full: &'a str,
    kind: Kind,
    meta: Option<Meta>,
    /// Patterns of `-regex` are extended ones.
    extended: bool,
}

impl Engine<'_> {
    pub(crate) fn find(&mut self, sh: &mut Shell, argv: &[String]) {
        if argv.iter().filter(|a| *a == "-exec" || *a == "-execdir").count() > 8 {
            self.unknown("too many programs in one walk", "find");
            return;
        }
        let mut i = 1;
        let mut w = Walk { max: usize::MAX, ..Walk::default() };
        let mut head = false;
        while let Some(a) = argv.get(i) {
            match a.as_str() {
                "-L" => w.follow = true,
                "-H" => head = true,
                "-P" => {}
                "-D" => i += 1,
                a if a.starts_with("-O") && a.len() > 2 => {}
                _ => break,
            }
            i += 1;
        }
        let mut starts = Vec::new();
        while let Some(a) = argv.get(i).filter(|a| !a.starts_with('-') && !matches!(a.as_str(), "(" | "!" | ")" | ",")) {
            starts.push(a.clone());
            i += 1;
        }
        if starts.is_empty() {
            starts.push(".".into());
        }
        let rest = &argv[i..];
        if let Some(f) = rest.iter().position(|a| a == "-files0-from").and_then(|i| rest.get(i + 1)) {
            let t = if f == "-" { self.take(sh, 0) } else { self.content(sh, f) };
            starts = t.split('\0').filter(|s| !s.is_empty()).map(str::to_owned).collect();
        }
        let mut p = Parser { a: rest, i: 0, w: &mut w, acts: false, ids: 0, depth: 0 };
        let mut expr = p.or();
        let acts = p.acts;
        w.metas = rest.iter().any(|a| {
            matches!(a.as_str(), "-newer" | "-newermm" | "-newermt" | "-size" | "-mtime" | "-mmin" | "-perm" | "-empty" | "-executable")
        });
        w.extended =
            rest.windows(2).any(|pair| pair[0] == "-regextype" && ["extended", "egrep", "awk"].iter().any(|kind| pair[1].contains(kind)));
        if !acts {
            expr = Expr::And(vec![expr, Expr::Print('\n')]);
        }
        self.find_files(sh, &expr);
        for s in starts {
            let full = self.full(sh, &s);
            if full.contains(UNK) {
                // what is below an unknown place is unknown, but what happens to it may be seen
                w.out.push_str(&format!("{s}\n"));
                let cwd = sh.cwd.clone();
                let e = Entry { cwd: &cwd, path: &s, name: &s, full: &full, kind: Kind::File, meta: None, extended: w.extended };
                let mut prune = false;
                self.find_one(sh, &expr, &e, &mut w, &mut prune);
                continue;
            }
            let at = self.fs.at(&full, w.follow || head || s.ends_with('/'));
            let Some(kind) = at.kind else { continue };
            self.visit(sh, &expr, &s, &at.path, kind, 0, &mut w);
        }
        for (_, words, files) in std::mem::take(&mut w.collected) {
            let mut all: Vec<String> = words[..words.len() - 1].to_vec();
            all.extend(files);
            self.call(sh, all, false);
        }
        if w.visits > MAX_VISITS {
            self.unknown("too many files", "find");
        }
        let out = std::mem::take(&mut w.out);
        self.put(sh, 1, &out);
        sh.status = Some(0);
    }

    /// Files that the expression opens for its lists, found or not.
    fn find_files(&mut self, sh: &mut Shell, e: &Expr) {
        match e {
            Expr::And(l) | Expr::Or(l) => {
                for x in l {
                    self.find_files(sh, x);
                }
            }
            Expr::Not(x) => self.find_files(sh, x),
            Expr::To(f) => self.effect(sh, 'W', f, false),
            _ => {}
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a walk that carries its rules along")]
    fn visit(&mut self, sh: &mut Shell, expr: &Expr, path: &str, full: &str, kind: Kind, depth: usize, w: &mut Walk) {
        w.visits += 1;
        if w.visits > MAX_VISITS || w.quit || depth > 60 || !self.spend(500) {
            return;
        }
        let name = picture::split(path).1.to_owned();
        // times and sizes are looked at only where a test asks for them
        let meta = if w.metas { self.fs.meta(full) } else { None };
        let cwd = sh.cwd.clone();
        let e = Entry { cwd: &cwd, path, name: &name, full, kind, meta, extended: w.extended };
        let mut prune = false;
        if !w.post && depth >= w.min {
            self.find_one(sh, expr, &e, w, &mut prune);
        }
        if kind == Kind::Dir
            && !prune
            && depth < w.max
            && let Some(list) = self.fs.list(full)
        {
            for (n, k) in list.iter() {
                // the plumbing is nobody's, and large; only a walk that begins in it goes through it
                if n == ".git" && *k == Kind::Dir {
                    continue;
                }
                let (mut f, mut k) = (join(full, n), *k);
                if w.follow && k == Kind::Link {
                    let at = self.fs.at(&f, true);
                    if let Some(real) = at.kind {
                        // a link back up would go on forever
                        if real == Kind::Dir && full.starts_with(&at.path) {
                            continue;
                        }
                        k = real;
                        f = at.path;
                    }
                }
                self.visit(sh, expr, &join(path, n), &f, k, depth + 1, w);
                if w.quit {
                    return;
                }
            }
        }
        if w.post && depth >= w.min {
            self.find_one(sh, expr, &e, w, &mut prune);
        }
    }

    /// Works the expression out for one entry; `None` where a test is not known.
    fn find_one(&mut self, sh: &mut Shell, expr: &Expr, e: &Entry<'_>, w: &mut Walk, prune: &mut bool) -> Option<bool> {
        match expr {
            // One that is false decides an *and*, one that is true an *or*; what is not known decides neither.
            Expr::And(all) | Expr::Or(all) => {
                let decides = matches!(expr, Expr::Or(_));
                let mut sure = Some(!decides);
                for x in all {
                    if sure.is_none() && !decides && acts(x) && !e.path.contains(UNK) {
                        // whether it gets here is not known, and so not whether it acts
                        self.unknown("a test of find is not known", e.path);
                        return None;
                    }
                    match self.find_one(sh, x, e, w, prune) {
                        Some(found) if found == decides => return Some(decides),
                        None => sure = None,
                        Some(_) => {}
                    }
                }
                sure
            }
            Expr::Not(x) => self.find_one(sh, x, e, w, prune).map(|b| !b),
            Expr::Test(name, v) => self.find_test(name, v, e),
            Expr::Delete => {
                if e.path != "." {
                    self.remove(sh, e.path, false);
                }
                Some(true)
            }
            Expr::Exec { words, each, dir, id, asks } => {
                if *asks {
                    // where nobody answers, it is no
                    let answer = self.line(sh, 0, '\n').unwrap_or_default();
                    if answer.contains(UNK) {
                        self.unknown("an answer is not known", &words.join(" "));
                        return None;
                    }
                    if !answer.trim_start().starts_with(['y', 'Y']) {
                        return Some(false);
                    }
                }
                if *each || *dir {
                    let (here, file) =
                        if *dir { (Some(picture::split(e.full).0.to_owned()), format!("./{}", e.name)) } else { (None, e.path.to_owned()) };
                    let line: Vec<String> = words.iter().map(|x| x.replace("{}", &file)).collect();
                    let mut sub = sh.clone();
                    if let Some(h) = here {
                        sub.cwd = h;
                    }
                    self.call(&mut sub, line, false);
                    return sub.status.map(|s| s == 0);
                }
                match w.collected.iter_mut().find(|c| c.0 == *id) {
                    Some(c) => c.2.push(e.path.to_owned()),
                    None => w.collected.push((*id, words.clone(), vec![e.path.to_owned()])),
                }
                Some(true)
            }
            Expr::Print(end) => {
                w.out.push_str(e.path);
                w.out.push(*end);
                Some(true)
            }
            Expr::Printf(f) => {
                let (t, _) = super::echo::unescape(f);
                let dir = picture::split(e.path).0;
                let t = t.replace("%p", e.path).replace("%f", e.name).replace("%h", dir);
                w.out.push_str(&if t.contains('%') { UNK.to_string() } else { t });
                Some(true)
            }
            Expr::To(f) => {
                let line = format!("{}\n", e.path);
                let old = self.content(sh, f);
                let full = self.full(sh, f);
                self.fs.leave(&full, true, picture::Left::File(Some((old + &line).into())));
                Some(true)
            }
            Expr::Prune => {
                *prune = true;
                Some(true)
            }
            Expr::Quit => {
                w.quit = true;
                Some(true)
            }
        }
    }

    fn find_test(&self, name: &str, v: &str, e: &Entry<'_>) -> Option<bool> {
        if v.contains(UNK) || e.path.contains(UNK) {
            return None;
        }
        let number = |have: i64| {
            let n: i64 = v.trim_start_matches(['+', '-']).trim_end_matches(|c: char| c.is_alphabetic()).parse().ok()?;
            Some(match v.chars().next() {
                Some('+') => have > n,
                Some('-') => have < n,
                _ => have == n,
            })
        };
        match name {
            "-true"
            | "-noleaf"
            | "-mount"
            | "-xdev"
            | "-daystart"
            | "-ignore_readdir_race"
            | "-warn"
            | "-nowarn"
            | "-readable"
            | "-writable"
            | "-regextype"
            | "-files0-from" => Some(true),
            "-false" | "-nouser" | "-nogroup" => Some(false),
            "-name" => Some(pattern::matches(v, e.name)),
            "-iname" => Some(pattern::matches_fold(v, e.name)),
            "-path" | "-wholename" => Some(pattern::matches(v, e.path)),
            "-ipath" | "-iwholename" => Some(pattern::matches_fold(v, e.path)),
            "-regex" | "-iregex" => {
                let flavor = if e.extended { Flavor::Extended } else { Flavor::Basic };
                let bare = if e.extended { format!("^({v})$") } else { format!("^{v}$") };
                regex::compile(&bare, flavor, name == "-iregex").map(|r| r.is_match(e.path))
            }
            "-type" | "-xtype" => {
                let kind = if name == "-xtype" { self.fs.what(e.full).unwrap_or(Kind::Link) } else { e.kind };
                Some(v.split(',').any(|t| match t {
                    "f" => kind == Kind::File,
                    "d" => kind == Kind::Dir,
                    "l" => kind == Kind::Link,
                    _ => kind == Kind::Other,
                }))
            }
            "-empty" => Some(match e.kind {
                Kind::Dir => self.fs.list(e.full).is_some_and(|l| l.is_empty()),
                Kind::File => e.meta.is_some_and(|m| m.len == 0),
                _ => false,
            }),
            "-executable" => e.meta.map(|m| m.mode & 0o111 != 0),
            "-size" => {
                let unit: u64 = match v.chars().last() {
                    Some('c') => 1,
                    Some('w') => 2,
                    Some('k') => 1 << 10,
                    Some('M') => 1 << 20,
                    Some('G') => 1 << 30,
                    _ => 512,
                };
                number(i64::try_from(e.meta?.len.div_ceil(unit)).unwrap_or(i64::MAX))
            }
            "-mtime" => number((self.fs.world().now() - e.meta?.mtime / NANOS).div_euclid(86_400)),
            "-mmin" => number((self.fs.world().now() - e.meta?.mtime / NANOS).div_euclid(60)),
            "-newer" | "-newermm" => {
                let there = self.fs.at(&join(e.cwd, v), true).path;
                self.fs.meta(&there)?;
                self.fs.newer(e.full, &there)
            }
            "-newermt" => {
                let (when, off) = moment(v, self.fs.world().now())?;
                let apart = e.meta?.mtime / NANOS - when;
                (apart.abs() > off).then_some(apart > 0)
            }
            "-anewer" | "-cnewer" => None,
            "-perm" => {
                let bits = u32::from_str_radix(v.trim_start_matches(['-', '/']), 8).ok()?;
                let mode = e.meta?.mode & 0o7777;
                Some(match v.chars().next() {
                    Some('-') => mode & bits == bits,
                    Some('/') => bits == 0 || mode & bits != 0,
                    _ => mode == bits,
                })
            }
            "-samefile" => Some(false).filter(|_| !e.path.ends_with(picture::split(v).1)),
            _ => None,
        }
    }

    /// `fd`: what it runs for what it finds; only the plain forms.
    pub(crate) fn fd(&mut self, sh: &mut Shell, argv: &[String]) -> bool {
        let Some(at) = argv.iter().position(|a| matches!(a.as_str(), "-x" | "-X" | "--exec" | "--exec-batch")) else { return false };
        let words: Vec<String> = argv[at + 1..].iter().take_while(|a| *a != ";").cloned().collect();
        let call = super::options::parse("-e: -E: -t: -d: --extension: --exclude: --type: --max-depth:", &argv[..at]);
        let pat = call.args.first().cloned().unwrap_or_else(|| ".".into());
        let roots: Vec<String> = if call.args.len() > 1 { call.args[1..].to_vec() } else { vec![".".into()] };
        let re = regex::compile(&pat, Flavor::Extended, true);
        let ext = call.value(&["-e", "--extension"]).map(str::to_owned);
        let mut stack = roots;
        let mut found = Vec::new();
        while let Some(d) = stack.pop() {
            let full = self.full(sh, &d);
            let Some(list) = self.fs.list(&full) else { continue };
            for (n, k) in list.iter() {
                if n.starts_with('.') || found.len() > MAX_VISITS {
                    continue;
                }
                let p = if d == "." { n.clone() } else { join(&d, n) };
                if *k == Kind::Dir {
                    stack.push(p.clone());
                }
                if re.as_ref().is_none_or(|r| r.is_match(n))
                    && ext.as_ref().is_none_or(|e| n.ends_with(&format!(".{e}")))
                    && !(*k == Kind::Dir && ext.is_some())
                {
                    found.push(p);
                }
            }
        }
        for f in found {
            let mut line: Vec<String> = words.iter().map(|w| w.replace("{}", &f)).collect();
            if !words.iter().any(|w| w.contains("{}")) {
                line.push(f);
            }
            self.call(sh, line, false);
        }
        true
    }
}
