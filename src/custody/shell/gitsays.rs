//! Sub-commands of git that leave the work tree alone: what they write elsewhere, and what they print.

use super::super::act::ActKind;
use super::engine::{Engine, UNK};
use super::git::Global;
use super::gitask::{Repo, Specs};
use super::gitsettings::key;
use super::gitwords::marks;
use super::options::Call;
use super::picture::join;
use super::state::{Fd, Shell};

impl Engine<'_> {
    pub(super) fn git_quiet(&mut self, sh: &mut Shell, g: &Global, verb: &str, c: &Call, rest: &[String], r: Option<&Repo>) {
        if verb != "config" {
            let m = marks(verb);
            self.effects(sh, m, c);
        }
        if let Some(r) = r.cloned() {
            self.hooks(sh, g, &r, verb, c);
        }
        match verb {
            "config" => {
                let named = sh.vars.get("GIT_CONFIG").is_some_and(|var| var.exported);
                let named = named.then(|| self.var(sh, "GIT_CONFIG")).flatten();
                let file = c.value(&["-f", "--file"]).map(str::to_owned).or(named);
                let reads = c.has(&[
                    "--get",
                    "--get-all",
                    "--get-regexp",
                    "-l",
                    "--list",
                    "--get-urlmatch",
                    "--get-color",
                    "--get-colorbool",
                    "--show-origin",
                    "--show-scope",
                    "--name-only",
                ]) || c.args.first().is_some_and(|a| matches!(a.as_str(), "get" | "list"))
                    || c.args.len() < 2 && !c.has(&["--unset", "--unset-all", "--remove-section", "--rename-section", "-e", "--edit"]);
                if !reads {
                    if let [k, v, ..] = c.args.as_slice() {
                        let (k, v) =
                            if k == "set" { (v.clone(), c.args.get(2).cloned().unwrap_or_default()) } else { (k.clone(), v.clone()) };
                        self.git_config.push((key(&k), v));
                    }
                    if let Some(f) = file {
                        self.act(sh, ActKind::Write, &f, true, false);
                    } else if c.has(&["--global"]) {
                        let home = self.var(sh, "HOME").unwrap_or_else(|| UNK.to_string());
                        self.act(sh, ActKind::Write, &join(&home, ".gitconfig"), true, false);
                    } else if let Some(r) = r {
                        let p = join(&r.git_dir, "config");
                        self.act(sh, ActKind::Write, &p, true, false);
                    }
                }
            }
            "format-patch" if !c.has(&["--stdout", "--output"]) => {
                let dir = c.value(&["-o", "--output-directory"]).unwrap_or(".").to_owned();
                let before = self.out.unknown.len();
                self.act(sh, ActKind::Create, &join(&dir, &UNK.to_string()), true, false);
                if !dir.contains(UNK) {
                    self.out.unknown.truncate(before);
                }
                if let Some(r) = r.cloned() {
                    let mut here = sh.clone();
                    here.cwd.clone_from(&g.dir);
                    self.git_patches(&mut here, &r, c, rest, &dir);
                    return;
                }
            }
            "remote" => {
                if let [verb, name, address, ..] = c.args.as_slice()
                    && matches!(verb.as_str(), "add" | "set-url")
                {
                    self.git_config.push((format!("remote.{name}.url"), address.clone()));
                }
            }
            "bundle" => {
                if c.args.first().is_some_and(|a| a == "create")
                    && let Some(f) = c.args.get(1)
                {
                    self.effect(sh, 'W', f, false);
                }
            }
            "bugreport" | "diagnose" => {
                let d = c.value(&["-o", "--output-directory"]).unwrap_or(".").to_owned();
                self.effect(sh, 'd', &d, false);
            }
            "mailinfo" => {
                for f in c.args.iter().take(2) {
                    self.effect(sh, 'W', f, false);
                }
            }
            "mailsplit" => {
                let d = rest.iter().find_map(|a| a.strip_prefix("-o")).unwrap_or(".").to_owned();
                self.effect(sh, 'd', &d, false);
            }
            "interpret-trailers" if c.has(&["--in-place"]) => {
                for file in &c.args {
                    self.effect(sh, 'I', file, false);
                }
            }
            "branch" | "tag" => {
                if let Some(n) = c.args.first().filter(|_| !c.has(&["-d", "-D", "-l", "--list", "--contains", "--merged"])) {
                    let to = c.args.get(1).cloned().unwrap_or_else(|| "HEAD".into());
                    let to = self.refs.get(&to).cloned().unwrap_or(to);
                    self.refs.insert(n.clone(), to);
                }
            }
            "update-ref" => {
                if let [n, t, ..] = c.args.as_slice() {
                    let short = n.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/").to_owned();
                    self.refs.insert(short, t.clone());
                    self.refs.insert(n.clone(), t.clone());
                }
            }
            "fetch" => {
                for spec in c.args.iter().skip(1).filter(|_| c.args[0] == ".") {
                    if let Some((a, b)) = spec.trim_start_matches('+').split_once(':') {
                        self.refs.insert(b.to_owned(), a.to_owned());
                    } else {
                        self.refs.insert("FETCH_HEAD".into(), spec.clone());
                    }
                }
            }
            "push" | "commit" => {
                if let Some(r) = r.filter(|_| verb == "commit" && c.has(&["-a", "--all"])) {
                    self.takes_in(r, None);
                }
            }
            "add" | "stage" => {
                if let Some(r) = r.cloned().filter(|_| !c.has(&["-n", "--dry-run"])) {
                    let whole = c.has(&["-A", "--all", "-u", "--update"]) || c.args.iter().any(|a| a == "." || a == ":/");
                    if whole {
                        let specs = Specs::new(self, &r, &c.args);
                        self.takes_in(&r, Some(&specs));
                    }
                }
            }
            "fast-import" => {}
            _ => {}
        }
        let into = c.value(&["-o", "--output"]).map(str::to_owned).filter(|_| verb == "archive");
        if into.is_none() && (matches!(sh.fd(1), Fd::Term | Fd::Null) || c.has(&["--output"])) {
            return;
        }
        if verb == "archive"
            && let (Some(r), Some(t)) = (r.cloned(), c.args.first().cloned())
        {
            let mut args = vec!["ls-tree".to_owned(), "-r".into(), "-z".into(), "--name-only".into(), t, "--".into()];
            args.extend(c.args.iter().skip(1).map(|p| p.trim_end_matches('/').to_owned()));
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            if let Some(n) = self.names(&r, &args) {
                let p = c.value(&["--prefix"]).unwrap_or("").to_owned();
                let text =
                    format!("{}{}\n{UNK}", super::engine::MEMBERS, n.iter().map(|n| format!("{p}{n}")).collect::<Vec<_>>().join("\n"));
                match into {
                    Some(file) => self.leave_packed(sh, &file, text),
                    None => self.put(sh, 1, &text),
                }
                return;
            }
        }
        if into.is_some() {
            return;
        }
        let text = self.git_prints(sh, verb, rest, r);
        self.put(sh, 1, &text);
    }

    /// Uncommitted changes that would be staged.
    pub(super) fn takes_in(&mut self, r: &Repo, specs: Option<&Specs>) {
        let lines = self.status(r, specs.is_some()).unwrap_or_default();
        for l in lines {
            if l.index != '!' && l.work != ' ' && specs.is_none_or(|s| s.touches(&l.path)) && self.out.staged.len() < 1000 {
                let p = std::path::PathBuf::from(join(&r.top, &l.path));
                if !self.out.staged.contains(&p) {
                    self.out.staged.push(p);
                }
            }
        }
        if self.out.way_out.is_none() && !self.out.staged.is_empty() {
            self.out.way_out = Some("stage only your own paths: git add -- PATH…".into());
        }
    }

    /// What a reading sub-command prints: asked, where its options are known to be harmless.
    pub(super) fn git_prints(&mut self, sh: &Shell, verb: &str, rest: &[String], r: Option<&Repo>) -> String {
        let unk = UNK.to_string();
        let Some(r) = r else { return unk };
        if self.asks_too_late(sh, verb, rest, r) {
            return unk;
        }
        if verb == "rev-parse" && rest.iter().any(|a| a == "--show-toplevel") {
            return format!("{}\n", r.top);
        }
        if verb == "rev-parse" && rest.iter().any(|a| a == "--git-dir" || a == "--absolute-git-dir") {
            return format!("{}\n", r.git_dir);
        }
        let lists = match verb {
            "ls-files" | "ls-tree" | "rev-parse" | "status" | "branch" | "symbolic-ref" => true,
            "diff" => !rest.iter().any(|a| a == "--stat" || a == "--no-index"),
            "log" | "diff-tree" | "diff-index" | "diff-files" => rest.iter().any(|a| matches!(a.as_str(), "--name-only" | "-p")),
            "show" => true,
            "format-patch" => rest.iter().any(|a| a == "--stdout"),
            "grep" => rest.iter().any(|a| {
                a.starts_with('-') && !a.starts_with("--") && a.contains('l') || a == "--files-with-matches" || a == "--name-only"
            }),
            "cat-file" => rest.iter().any(|a| a == "-p" || a == "blob"),
            _ => false,
        };
        let fine = |a: &str| {
            !a.starts_with('-')
                || matches!(
                    a,
                    "--" | "--name-only"
                        | "--cached"
                        | "--staged"
                        | "--others"
                        | "--modified"
                        | "--deleted"
                        | "--exclude-standard"
                        | "--porcelain"
                        | "--short"
                        | "--full-name"
                        | "--merge-base"
                        | "--full-tree"
                        | "--abbrev-ref"
                        | "--verify"
                        | "--no-renames"
                        | "--relative"
                        | "--untracked-files=all"
                        | "--untracked-files=no"
                        | "-uall"
                        | "-uno"
                        | "--format="
                        | "--pretty=format:"
                        | "--show-current"
                        | "--files-with-matches"
                        | "--oneline"
                        | "--root"
                        | "--no-commit-id"
                        | "--stdout"
                        | "--binary"
                        | "--no-color"
                        | "--full-index"
                )
                || a.starts_with("--diff-filter=")
                || a.len() < 6 && !a.starts_with("--") && a[1..].chars().all(|ch| "zrmodcslniEFw1234567890pqv".contains(ch))
        };
        if !lists || !rest.iter().all(|a| fine(a)) {
            return unk;
        }
        let mut args = vec![verb];
        if matches!(verb, "diff" | "log" | "show" | "diff-tree" | "diff-index" | "diff-files" | "format-patch") {
            args.extend(["--no-ext-diff", "--no-textconv"]);
        }
        args.extend(rest.iter().map(String::as_str));
        match self.ask(&r.as_written(), &args) {
            Some(a) if a.stdout.len() <= super::engine::MAX_TEXT => String::from_utf8_lossy(&a.stdout).into_owned(),
            _ => unk,
        }
    }
}
