//! Programs that run programs: `env`, `sudo`, `timeout`, `xargs`, shells, and many more.

use super::engine::{Engine, UNK};
use super::options::parse;
use super::picture;
use super::state::{Fd, Shell, Value, Var};
use super::wrappers::PLAIN;

impl Engine<'_> {
    /// Follows a wrapper; false where the name is none.
    pub(crate) fn wrapper(&mut self, sh: &mut Shell, base: &str, argv: &[String]) -> bool {
        match base {
            "env" => self.env(sh, argv),
            "sudo" => self.sudo(sh, argv),
            "su" | "runuser" => self.su(sh, argv),
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ksh93" | "mksh" | "ash" | "rbash" | "posh" | "yash" => self.shell(sh, base, argv),
            "fish" | "csh" | "tcsh" | "nu" | "pwsh" | "elvish" | "xonsh" => self.other_shell(sh, base, argv),
            "busybox" | "toybox" if argv.get(1).is_some_and(|word| word == "--install") => {
                let dir = argv[2..].iter().find(|word| !word.starts_with('-')).map_or("/bin", String::as_str).to_owned();
                self.effect(sh, 'd', &dir, false);
            }
            "busybox" | "toybox" => {
                if argv.len() > 1 && !argv[1].starts_with('-') {
                    self.call(sh, argv[1..].to_vec(), false);
                }
            }
            "bwrap" => self.bwrap(sh, argv),
            "npx" | "bunx" => {
                let c = parse("-c: --call: -p: --package: .", argv);
                let Some(script) = c.value(&["-c", "--call"]).map(str::to_owned) else { return false };
                self.effect(sh, 'Y', &script, false);
            }
            "xargs" | "gxargs" => self.xargs(sh, argv),
            "parallel" => self.parallel(sh, argv),
            "flock" => self.flock(sh, argv),
            "chroot" => {
                let c = parse("--userspec: --groups: .", argv);
                match c.args.split_first() {
                    Some((root, rest)) if root == "/" && !rest.is_empty() => {
                        let mut sub = sh.clone();
                        if !c.has(&["--skip-chdir"]) {
                            sub.cwd = "/".into();
                        }
                        self.call(&mut sub, rest.to_vec(), false);
                    }
                    _ => self.unknown("a program in another root", base),
                }
            }
            "strace" => {
                self.traced(sh, argv);
                return self.plain(sh, base, argv);
            }
            "perf" => self.perf(sh, argv),
            "gdb" => self.gdb(sh, argv),
            "scp" | "sftp" => {
                self.ssh_options(sh, base, argv);
                return false;
            }
            "ssh" | "mosh" | "rsh" | "kubectl-exec" => {
                if !argv.iter().any(|a| a == "-V" || a == "-G") {
                    self.ssh(sh, argv);
                    self.put(sh, 1, &UNK.to_string());
                }
            }
            "script" => self.typescript(sh, argv),
            "ifne" => {
                if self.reads_input(sh) {
                    self.call(sh, argv[1..].to_vec(), false);
                }
            }
            "pee" => {
                let text = self.take(sh, 0);
                for script in &argv[1..] {
                    let mut sub = self.child(sh, true);
                    let id = self.stream(text.clone());
                    sub.set_fd(0, Fd::In(id));
                    self.script(&mut sub, script);
                    self.end(&mut sub);
                }
            }
            "prlimit" | "setarch" | "firejail" | "capsh" => {
                // options with glued values, then the command
                let mut i = 1;
                while argv.get(i).is_some_and(|a| a.starts_with('-') || base == "setarch" && i == 1 && !self.exists(sh, a)) {
                    if base == "capsh" && argv[i] == "--" {
                        let mut v = vec!["bash".to_owned()];
                        v.extend(argv[i + 1..].iter().cloned());
                        self.call(sh, v, false);
                        return true;
                    }
                    i += 1;
                }
                self.call(sh, argv[i.min(argv.len())..].to_vec(), false);
            }
            "entr" => self.entr(sh, argv),
            loader if loader.starts_with("ld-linux") || loader.starts_with("ld-musl") || loader == "ld.so" => {
                let c = parse("--library-path: --preload: --argv0: --inhibit-rpath: --audit: --glibc-hwcaps-prepend: .", argv);
                if !c.has(&["--list", "--verify", "--help", "--version"]) && !c.args.is_empty() {
                    self.call(sh, c.args, false);
                }
            }
            "start-stop-daemon" | "daemonize" => self.unknown("a program that can do anything", base),
            _ => return self.plain(sh, base, argv),
        }
        true
    }

    /// A wrapper that its row says all of.
    fn plain(&mut self, sh: &mut Shell, base: &str, argv: &[String]) -> bool {
        let Some((_, marks, skip)) = PLAIN.iter().find(|(n, _, _)| *n == base) else { return false };
        let c = parse(&format!("{marks} ."), argv);
        self.effects(sh, marks, &c);
        if base == "command" && c.has(&["-v", "-V"]) || c.args.is_empty() && matches!(base, "nice" | "taskset") {
            return true;
        }
        for p in c.values(&["--prepare", "--cleanup", "--setup"]) {
            let p = p.to_owned();
            self.effect(sh, 'Y', &p, false);
        }
        let mut sub = sh.clone();
        if let Some(d) = c.value(&["--wd", "--working-directory", "-w"]).filter(|_| matches!(base, "unshare" | "systemd-run")) {
            sub.cwd = self.full(sh, d);
        }
        let mut rest = c.args.get(*skip..).unwrap_or(&[]).to_vec();
        // `taskset 0x3 cmd`, `chrt 5 cmd`
        if matches!(base, "taskset") && rest.first().is_some_and(|r| r.starts_with(|ch: char| ch.is_ascii_digit())) {
            rest.remove(0);
        }
        if matches!(base, "watch") && !c.has(&["-x", "--exec"]) || matches!(base, "hyperfine" | "sg") {
            let lines = if base == "watch" { vec![rest.join(" ")] } else { rest };
            for l in lines {
                let l = if base == "sg" { l.trim_start_matches("-c").to_owned() } else { l };
                if !l.is_empty() {
                    self.effect(&mut sub, 'Y', &l, false);
                }
            }
            return true;
        }
        if !rest.is_empty() {
            self.call(&mut sub, rest, false);
            sh.status = sub.status;
        }
        true
    }

    fn env(&mut self, sh: &mut Shell, argv: &[String]) {
        let mut sub = sh.clone();
        let mut i = 1;
        let mut words: Vec<String> = argv.to_vec();
        while i < words.len() {
            let a = words[i].clone();
            match a.as_str() {
                "--" => {
                    i += 1;
                    break;
                }
                "-i" | "-" | "--ignore-environment" => {
                    sub.vars.clear();
                    sub.no_env = true;
                    i += 1;
                }
                "-u" | "--unset" | "-C" | "--chdir" | "-S" | "--split-string" | "-a" | "--argv0" => {
                    let v = words.get(i + 1).cloned().unwrap_or_default();
                    self.env_option(&mut sub, sh, &a, &v, &mut words, i + 1);
                    i += 2;
                }
                _ if a.starts_with("--") && a.contains('=') => {
                    let (n, v) = a.split_once('=').unwrap_or((&a, ""));
                    let (n, v) = (n.to_owned(), v.to_owned());
                    self.env_option(&mut sub, sh, &n, &v, &mut words, i);
                    i += 1;
                }
                _ if a.starts_with("-u") || a.starts_with("-C") || a.starts_with("-S") => {
                    let (n, v) = (a[..2].to_owned(), a[2..].to_owned());
                    self.env_option(&mut sub, sh, &n, &v, &mut words, i);
                    i += 1;
                }
                _ if a.starts_with('-') => {
                    if let Some(p) = a.strip_prefix("-vS").or_else(|| a.strip_prefix("-iS")) {
                        let v = if p.is_empty() { words.get(i + 1).cloned().unwrap_or_default() } else { p.to_owned() };
                        let at = if p.is_empty() { i + 1 } else { i };
                        self.env_option(&mut sub, sh, "-S", &v, &mut words, at);
                        i = at;
                    }
                    i += 1;
                }
                _ => break,
            }
        }
        while let Some((k, v)) = words.get(i).and_then(|a| a.split_once('=')) {
            let (k, v) = (k.to_owned(), v.to_owned());
            sub.vars.insert(k, Var { value: Value::Text(v), exported: true, shape: ' ' });
            i += 1;
        }
        if i >= words.len() {
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        self.call(&mut sub, words[i..].to_vec(), false);
        sh.status = sub.status;
    }

    fn env_option(&mut self, sub: &mut Shell, sh: &Shell, name: &str, value: &str, words: &mut Vec<String>, at: usize) {
        match name {
            "-u" | "--unset" => {
                sub.vars.insert(value.to_owned(), Var { value: Value::Unset, exported: false, shape: ' ' });
            }
            "-C" | "--chdir" => sub.cwd = picture::tidy(&self.full(sh, value)),
            "-S" | "--split-string" => {
                // quotes and `${NAME}` work in it much as in a shell
                let parsed = self.parsed(value);
                if let Ok(super::syntax::Cmd::Simple { assigns, words: list, .. }) = &*parsed {
                    let mut s = sub.clone();
                    s.opts.noglob = true;
                    let mut split: Vec<String> = assigns.iter().map(|a| self.one(&mut s, a)).collect();
                    split.extend(self.fields(&mut s, list));
                    let rest: Vec<String> = words.get(at + 1..).unwrap_or(&[]).to_vec();
                    words.truncate(at + 1);
                    words.extend(split);
                    words.extend(rest);
                }
            }
            _ => {}
        }
    }

    fn sudo(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = "-u: -g: -h: -p: -C: -r: -t: -T: -U: -D: -R: --user: --group: --host: --prompt: --chdir: --chroot: --close-from: --other-user: --command-timeout: . -e -s -i";
        let c = parse(marks, argv);
        let mut sub = sh.clone();
        if let Some(d) = c.value(&["-D", "--chdir"]) {
            sub.cwd = self.full(sh, d);
        }
        if c.has(&["-R", "--chroot"]) {
            self.unknown("a program in another root", "sudo");
            return;
        }
        let mut args = c.args.clone();
        while let Some((k, v)) = args.first().and_then(|a| a.split_once('=')) {
            if !k.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_') {
                break;
            }
            sub.vars.insert(k.to_owned(), Var { value: Value::Text(v.to_owned()), exported: true, shape: ' ' });
            args.remove(0);
        }
        if c.has(&["-e", "--edit"]) || c.name == "sudoedit" {
            for a in &args {
                self.effect(&mut sub, 'W', a, false);
            }
            return;
        }
        if c.has(&["-l", "-v", "-k", "-K", "-V"]) {
            return;
        }
        if c.has(&["-s", "-i", "--shell", "--login"]) {
            if c.has(&["-i", "--login"]) {
                sub.cwd = UNK.to_string();
            }
            if args.is_empty() {
                let t = self.take(sh, 0);
                self.effect(&mut sub, 'Y', &t, false);
            } else {
                let t = args.join(" ");
                self.effect(&mut sub, 'Y', &t, false);
            }
            return;
        }
        self.call(&mut sub, args, false);
        sh.status = sub.status;
    }

    fn su(&mut self, sh: &mut Shell, argv: &[String]) {
        let c = parse("-c: --command: -s: --shell: -g: -G: -u: --user: -w: -T", argv);
        let mut sub = sh.clone();
        if c.has(&["-l", "--login"]) || c.args.iter().any(|a| a == "-") {
            sub.cwd = UNK.to_string();
        }
        if let Some(s) = c.value(&["-c", "--command"]) {
            let mut child = self.child(&sub, false);
            let s = s.to_owned();
            self.script(&mut child, &s);
            self.end(&mut child);
        } else if c.name == "runuser" && c.has(&["-u", "--user"]) {
            let rest = c.args.clone();
            self.call(&mut sub, rest, false);
        } else {
            let t = self.take(sh, 0);
            self.effect(&mut sub, 'Y', &t, false);
        }
    }

    fn flock(&mut self, sh: &mut Shell, argv: &[String]) {
        let c = parse("-w: -E: --wait: --timeout: --conflict-exit-code: .", argv);
        let Some(lock) = c.args.first() else { return };
        if lock.parse::<u32>().is_err() {
            let full = self.full(sh, lock);
            if self.fs.what(&full).is_none() {
                self.effect(sh, 'W', lock, false);
            }
        }
        let rest = &c.args[1..];
        match rest.first().map(String::as_str) {
            Some("-c" | "--command") => {
                if let Some(s) = rest.get(1) {
                    self.effect(sh, 'Y', s, false);
                }
            }
            Some(_) => {
                self.call(sh, rest.to_vec(), false);
            }
            None => {}
        }
    }

    fn typescript(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = "-c: --command: -o: -T:W -I:W -O:W -B:W -t:: --log-out:W --log-in:W --log-io:W --log-timing:W -E: -m: --timing::";
        let c = parse(marks, argv);
        self.effects(sh, marks, &c);
        if let Some(t) = c.value(&["-t", "--timing"]) {
            let t = t.to_owned();
            self.effect(sh, 'W', &t, false);
        }
        if !c.has(&["-I", "-O", "-B", "--log-out", "--log-in", "--log-io"]) {
            let f = c.args.first().map_or("typescript", String::as_str).to_owned();
            self.effect(sh, 'W', &f, false);
        }
        let text = match c.value(&["-c", "--command"]) {
            Some(t) => t.to_owned(),
            None if c.args.len() > 1 => c.args[1..].join(" "),
            None => self.take(sh, 0),
        };
        self.effect(sh, 'Y', &text, false);
    }

    fn entr(&mut self, sh: &mut Shell, argv: &[String]) {
        let files = self.take(sh, 0);
        let mut i = 1;
        let mut shell = false;
        while let Some(a) = argv.get(i).filter(|a| a.starts_with('-')) {
            shell |= a.contains('s');
            i += 1;
        }
        let first = files.lines().next().unwrap_or("").to_owned();
        let rest: Vec<String> = argv[i..].iter().map(|a| if a == "/_" { first.clone() } else { a.clone() }).collect();
        if shell {
            let t = rest.join(" ");
            self.effect(sh, 'Y', &t, false);
        } else {
            self.call(sh, rest, false);
        }
    }
}
