//! Changes that lay aside come back: `stash`, `apply`, `am`.

use super::engine::{Engine, UNK};
use super::gitask::{Repo, Specs};
use super::gitout;
use super::gitwords::marks;
use super::options::Call;
use super::picture::{Left, join, tidy};
use super::state::Shell;
use super::{Kind, patchfile, pattern};

impl Engine<'_> {
    pub(super) fn git_stash(&mut self, sh: &Shell, r: &Repo, c: &Call, rest: &[String]) {
        let verb = c.args.first().map_or("push", String::as_str);
        match verb {
            "show" if c.has(&["-p", "--patch"]) => {
                let s = c.args.get(1).cloned().unwrap_or_else(|| "stash@{0}".into());
                let base = format!("{s}^1");
                let text = match self.ask(r, &["diff", "-p", "--no-ext-diff", "--no-textconv", &base, &s, "--"]) {
                    Some(a) if a.ok => String::from_utf8_lossy(&a.stdout).into_owned(),
                    _ => UNK.to_string(),
                };
                self.put(sh, 1, &text);
            }
            "list" | "show" | "drop" | "clear" | "create" | "store" => {}
            "pop" | "apply" | "branch" => {
                let n = usize::from(verb == "branch") + 1;
                let s = c.args.get(n).cloned().unwrap_or_else(|| "stash@{0}".into());
                let s = if s.chars().all(|ch| ch.is_ascii_digit()) { format!("stash@{{{s}}}") } else { s };
                let base = format!("{s}^1");
                let files = self.differ(r, &[&base, &s], None);
                let Some(mut files) = self.told(r, files) else { return };
                let dirty = self.dirty(r);
                if dirty.iter().any(|d| files.contains(d)) {
                    self.unknown("git would refuse: uncommitted changes", &r.verb);
                    return;
                }
                let others = format!("{s}^3");
                if self.commit(r, &others).is_some() {
                    files.extend(self.names(r, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", &others]).unwrap_or_default());
                }
                if verb == "branch" {
                    files.extend(self.differ(r, &["HEAD", &base], None).unwrap_or_default());
                }
                self.git_files(sh, r, &files, false, &gitout::unstash(&s));
            }
            _ => {
                if c.has(&["--keep-index"]) && rest.is_empty() {
                    return;
                }
                let mut paths: Vec<String> = c.args.clone();
                if matches!(verb, "push" | "save") && !paths.is_empty() {
                    paths.remove(0);
                }
                if verb == "save" {
                    paths.clear();
                }
                paths.extend(self.git_listed_paths(sh, r, c));
                let specs = Specs::new(self, r, &paths);
                let others = c.has(&["-u", "--include-untracked", "-a", "--all"]);
                let lines = self.status(r, others);
                let Some(lines) = self.told(r, lines) else { return };
                if c.has(&["-p", "--patch"]) {
                    let answers = self.take(sh, 0);
                    if !answers.contains(['y', 'a']) && !answers.contains(UNK) {
                        return;
                    }
                }
                // git clears up behind itself, where there is anything to lay aside
                let empty = if others && specs.empty() && (!lines.is_empty() || self.fs.changed_below(&r.top, None)) {
                    self.untracked_dirs(r, c.has(&["-a", "--all"]))
                } else {
                    Vec::new()
                };
                let files: Vec<String> = lines
                    .iter()
                    .filter(|l| match l.index {
                        '?' => others,
                        '!' => c.has(&["-a", "--all"]),
                        i => !c.has(&["-S", "--staged"]) || i != ' ',
                    })
                    .map(|l| l.path.clone())
                    .chain(empty)
                    .filter(|p| specs.touches(p))
                    .collect();
                self.git_files(sh, r, &files, false, &gitout::stash());
            }
        }
    }

    /// Files that a patch changes, as git takes it.
    pub(super) fn git_patch(&mut self, sh: &Shell, r: Option<&Repo>, c: &Call, text: &str, base: &str) {
        let level = c.value(&["-p"]).and_then(|p| p.parse().ok()).unwrap_or(1);
        let dir = c.value(&["--directory"]).unwrap_or("").to_owned();
        let (no, yes) = (c.values(&["--exclude"]), c.values(&["--include"]));
        let mut files: Vec<String> = Vec::new();
        let mut links: Vec<(String, String)> = Vec::new();
        for ch in patchfile::changes(text) {
            if let (Some(target), Some(n)) = (&ch.link, ch.new.as_ref().and_then(|n| patchfile::strip(n, level))) {
                let n = join(dir.trim_end_matches('/'), &n);
                links.push((tidy(&join(base, n.trim_start_matches('/'))), target.clone()));
            }
            for n in [ch.old, ch.new].into_iter().flatten() {
                let Some(n) = patchfile::strip(&n, level) else { continue };
                let n = if dir.is_empty() { n } else { join(&dir, &n) };
                if no.iter().any(|e| pattern::matches(e, &n)) || !yes.is_empty() && !yes.iter().any(|e| pattern::matches(e, &n)) {
                    continue;
                }
                let full = tidy(&join(base, &n));
                // names that climb out are refused by git
                if n.starts_with('/') || !full.starts_with(base) && !c.has(&["--unsafe-paths"]) {
                    continue;
                }
                if self.fs.what(&full) == Some(Kind::File) && !c.has(&["-3", "--3way", "--reject", "-C"]) && text.len() < 100_000 {
                    if let Some(content) = self.fs.text(&full)
                        && !patchfile::fits(text, &full, &content, c.has(&["-R", "--reverse"]))
                    {
                        // one part that does not fit, and git changes nothing
                        self.unknown("the patch does not apply", &n);
                        return;
                    }
                } else if self.fs.what(&full).is_none()
                    && files.is_empty()
                    && !text.contains("/dev/null")
                    && !text.contains("rename ")
                    && !c.has(&["--reject"])
                    && self.out.unknown.is_empty()
                {
                    self.unknown("the patch does not apply", &n);
                    return;
                }
                if !files.contains(&full) {
                    files.push(full);
                }
            }
        }
        if text.contains(UNK) {
            self.unknown("a patch can't be read", "git apply");
        }
        let fallback = Repo { verb: "git apply".into(), ..Repo::default() };
        let r = r.cloned().map_or(fallback, |r| Repo { top: String::new(), ..r });
        let files: Vec<String> = files.into_iter().map(|f| f.trim_start_matches('/').to_owned()).collect();
        let r = Repo { top: "/".into(), ..r };
        for file in &files {
            // a patch says itself what is a link
            self.git_plain.insert(format!("/{file}"));
        }
        self.git_files(sh, &r, &files, false, &gitout::patch(&r.verb));
        for (at, target) in links.into_iter().filter(|(at, _)| files.iter().any(|file| at[1..] == **file)) {
            self.fs.leave(&at, false, Left::Link(target));
        }
    }

    pub(super) fn git_apply(&mut self, sh: &mut Shell, r: Option<&Repo>, c: &Call) {
        self.effects(sh, marks("apply"), c);
        if c.has(&["--check", "--stat", "--numstat", "--summary", "--cached", "--build-fake-ancestor"]) && !c.has(&["--apply"]) {
            return;
        }
        let r2 = r.map(|r| Repo { verb: "git apply".into(), ..r.clone() });
        let base = self.fs.at(&sh.cwd, true).path;
        let mut text = String::new();
        let files: Vec<String> = if c.args.is_empty() { vec!["-".into()] } else { c.args.clone() };
        for f in &files {
            let t = if f == "-" { self.take(sh, 0) } else { self.patch_content(sh, f) };
            text.push_str(&t);
            text.push('\n');
        }
        // inside a repository names start at its root, and only what is below the current directory is taken
        match r2.as_ref().filter(|r| !r.top.is_empty()) {
            Some(r) => {
                let top = r.top.clone();
                let prefix = base.strip_prefix(&top).unwrap_or("").trim_start_matches('/').to_owned();
                let git_style = text.contains("diff --git ");
                if prefix.is_empty() {
                    self.git_patch(sh, Some(r), c, &text, &top);
                } else if git_style {
                    let before = self.out.acts.len();
                    self.git_patch(sh, Some(r), c, &text, &top);
                    let here = format!("{base}/");
                    let mut k = 0;
                    let mut left_out = Vec::new();
                    self.out.acts.retain(|a| {
                        k += 1;
                        let stays = k <= before || a.act.path.to_string_lossy().starts_with(&here);
                        if !stays {
                            left_out.push((a.act.kind, a.act.follow, a.act.below, a.act.path.to_string_lossy().into_owned()));
                        }
                        stays
                    });
                    for key in left_out {
                        // from another directory the same file may be meant
                        self.seen.remove(&key);
                    }
                } else {
                    self.git_patch(sh, Some(r), c, &text, &base);
                }
            }
            None => self.git_patch(sh, None, c, &text, &base),
        }
    }

    pub(super) fn git_am(&mut self, sh: &mut Shell, r: &Repo, c: &Call) {
        if c.has(&["--continue", "--skip", "--quit", "--resolved", "-r", "--show-current-patch"]) {
            self.unknown("what is left of a mailbox is not known", "git am");
            return;
        }
        if c.has(&["--abort"]) {
            let d = self.dirty(r);
            self.git_files(sh, r, &d, false, &gitout::abort("git am"));
            return;
        }
        let mut text = String::new();
        if c.args.is_empty() {
            text = self.take(sh, 0);
        }
        for f in &c.args {
            text.push_str(&self.patch_content(sh, f));
            text.push('\n');
        }
        let top = r.top.clone();
        self.git_patch(sh, Some(r), c, &text, &top);
    }
}
