//! git takes files away or moves them: `clean`, `rm`, `mv`, `submodule`, `bisect`, `sparse-checkout`.

use super::super::act::ActKind;
use super::engine::Engine;
use super::gitask::{Repo, Specs, clone_name};
use super::gitout;
use super::options::Call;
use super::pattern;
use super::picture::{join, split};
use super::state::Shell;

impl Engine<'_> {
    pub(super) fn git_clean(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["-n", "--dry-run"]) {
            return;
        }
        if !c.has(&["-f", "--force"]) {
            if c.has(&["-i", "--interactive"]) {
                let t = self.take(sh, 0);
                if t.is_empty() {
                    return;
                }
            } else if self.word(r, &["config", "--get", "clean.requireForce"]).as_deref() != Some("false") {
                return;
            }
        }
        let lines = self.status(r, true);
        let Some(lines) = self.told(r, lines) else { return };
        let mut specs = Specs::new(self, r, &c.args);
        let here = [".".to_owned()];
        if specs.empty() {
            specs = Specs::new(self, r, &here);
        }
        let kept: Vec<&str> = c.values(&["-e", "--exclude"]);
        let dirs = c.has(&["-d"]);
        let empty = if dirs && !c.has(&["-X"]) { self.untracked_dirs(r, c.has(&["-x"])) } else { Vec::new() };
        let files: Vec<String> = lines
            .into_iter()
            .filter(|l| match l.index {
                '?' => !c.has(&["-X"]),
                '!' => c.has(&["-x", "-X"]),
                _ => false,
            })
            .map(|l| l.path)
            .chain(empty)
            .filter(|p| (dirs || !p.ends_with('/') || specs.yes_inside(p)) && specs.touches(p))
            .filter(|p| {
                !kept.iter().any(|k| {
                    pattern::matches(k, p.trim_end_matches('/'))
                        || pattern::matches(k.trim_end_matches('/'), split(p).1)
                        || p.trim_end_matches('/').starts_with(&format!("{}/", k.trim_matches('/')))
                })
            })
            .collect();
        self.git_removes(sh, r, &files, &gitout::clean(c));
    }

    /// Directories with nothing tracked in them, the empty ones as well, which `git status` does not tell.
    pub(super) fn untracked_dirs(&mut self, r: &Repo, ignored: bool) -> Vec<String> {
        let mut args = vec!["ls-files", "-z", "--full-name", "--others", "--directory"];
        if !ignored {
            args.push("--exclude-standard");
        }
        args.push(":/");
        let repo = r.as_written();
        self.names(&repo, &args).unwrap_or_default().into_iter().filter(|name| name.ends_with('/')).collect()
    }

    pub(super) fn git_rm(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        if c.has(&["--cached", "-n", "--dry-run"]) {
            return;
        }
        let mut paths = c.args.clone();
        paths.extend(self.git_listed_paths(sh, r, c));
        let specs = Specs::new(self, r, &paths);
        if specs.empty() {
            return;
        }
        let all = self.names(r, &["ls-files", "-z", "--full-name", ":/"]);
        let Some(all) = self.told(r, all) else { return };
        let hit: Vec<String> = all.into_iter().filter(|f| specs.has(f)).collect();
        if !c.has(&["-f", "--force"]) {
            let dirty = self.dirty(r);
            if hit.iter().any(|h| dirty.contains(h)) {
                self.unknown("git would refuse: uncommitted changes", &r.verb);
                return;
            }
        }
        self.git_removes(sh, r, &hit, &gitout::paths());
    }

    pub(super) fn git_mv(&mut self, sh: &mut Shell, c: &Call) {
        if c.has(&["-n", "--dry-run"]) {
            return;
        }
        let call = Call { name: "mv".into(), opts: c.opts.clone(), args: c.args.clone() };
        self.mv(sh, &call);
    }

    pub(super) fn git_submodule(&mut self, sh: &mut Shell, r: &Repo, c: &Call, rest: &[String]) {
        match c.args.first().map(String::as_str) {
            Some("add") => {
                let p = c.args.get(2).cloned().or_else(|| c.args.get(1).map(|u| clone_name(u)));
                if let Some(p) = p {
                    self.act(sh, ActKind::Create, &p, false, false);
                    self.unknown_inside(sh, &p);
                }
                self.act(sh, ActKind::Write, &join(&r.top, ".gitmodules"), false, false);
            }
            Some("foreach") => {
                let words: Vec<String> = rest
                    .iter()
                    .skip_while(|a| *a != "foreach")
                    .skip(1)
                    .filter(|a| *a != "--recursive" && *a != "--quiet")
                    .cloned()
                    .collect();
                let text = words.join(" ");
                let modules = self.content(sh, &join(&r.top, ".gitmodules"));
                for p in modules.lines().filter_map(|l| l.trim().strip_prefix("path").map(|p| p.trim_start_matches([' ', '=']).to_owned()))
                {
                    let mut sub = sh.clone();
                    sub.cwd = join(&r.top, &p);
                    self.effect(&mut sub, 'Y', &text, false);
                }
            }
            Some("update" | "deinit" | "sync" | "absorbgitdirs" | "set-branch" | "set-url") => {
                let verb = c.args[0].clone();
                let modules = self.content(sh, &join(&r.top, ".gitmodules"));
                if verb == "update" || verb == "deinit" {
                    for p in
                        modules.lines().filter_map(|l| l.trim().strip_prefix("path").map(|p| p.trim_start_matches([' ', '=']).to_owned()))
                    {
                        if c.args.len() == 1 || c.args.iter().any(|a| a.trim_end_matches('/') == p) {
                            self.git_files(sh, r, &[format!("{p}/")], false, &gitout::paths());
                        }
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn git_bisect(&mut self, sh: &mut Shell, r: &Repo, c: &Call, rest: &[String]) {
        match c.args.first().map(String::as_str) {
            Some("start") => {
                let refs: Vec<String> = c.args[1..].to_vec();
                if refs.len() < 2 || c.has(&["--no-checkout"]) {
                    return;
                }
                let bad = refs[0].clone();
                let goods: Vec<String> = refs[1..].iter().map(|g| format!("^{g}")).collect();
                let mut args = vec!["rev-list", "--bisect", &bad];
                args.extend(goods.iter().map(String::as_str));
                args.push("--");
                let mid = self.word(r, &args);
                let Some(mid) = self.told(r, mid) else { return };
                self.git_goto(sh, r, &mid, false, false);
            }
            Some("run") => {
                let words: Vec<String> = rest.iter().skip_while(|a| *a != "run").skip(1).cloned().collect();
                let mut sub = sh.clone();
                sub.cwd.clone_from(&r.top);
                self.call(&mut sub, words, false);
                self.unknown("which commits a search goes through is not known", "git bisect");
            }
            Some("reset") => {
                let start = self.fs.text(&join(&r.git_dir, "BISECT_START"));
                if let Some(s) = start {
                    let t = c.args.get(1).cloned().unwrap_or_else(|| s.trim().to_owned());
                    self.git_goto(sh, r, &t, false, false);
                }
            }
            Some("good" | "bad" | "new" | "old" | "skip" | "next" | "replay") => {
                self.unknown("which commits a search goes through is not known", "git bisect")
            }
            _ => {}
        }
    }

    pub(super) fn git_sparse(&mut self, sh: &Shell, r: &Repo, c: &Call) {
        let verb = c.args.first().map_or("", String::as_str);
        if !matches!(verb, "set" | "add" | "init" | "disable" | "reapply") || verb == "add" || verb == "disable" {
            if verb == "disable" || verb == "add" {
                self.unknown("which files come back is not known", "git sparse-checkout");
            }
            return;
        }
        let keep: Vec<String> = c.args[1..].iter().map(|d| d.trim_matches('/').to_owned()).collect();
        if verb == "reapply" {
            return;
        }
        let all = self.names(r, &["ls-files", "-z", "--full-name", ":/"]);
        let Some(all) = self.told(r, all) else { return };
        let dirty = self.dirty(r);
        let gone: Vec<String> = all
            .into_iter()
            .filter(|f| {
                let top = !f.contains('/');
                !top && !dirty.contains(f)
                    && !keep.iter().any(|k| f.starts_with(&format!("{k}/")) || k.starts_with(&format!("{}/", split(f).0)))
            })
            .collect();
        self.git_removes(sh, r, &gone, &gitout::orphan());
    }
}
