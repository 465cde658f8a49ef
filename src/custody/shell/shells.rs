//! Shells that are run as programs: their options, the scripts that they read before they begin, and their script.

use super::engine::{Engine, UNK};
use super::picture::join;
use super::state::{Shell, Value};
use super::words;

/// How a shell starts.
#[derive(Default)]
struct Start {
    posix: bool,
    interactive: bool,
    login: bool,
    rc: Option<String>,
    no_rc: bool,
    no_profile: bool,
}

impl Engine<'_> {
    /// A shell that is run as a program.
    pub(crate) fn shell(&mut self, sh: &mut Shell, base: &str, argv: &[String]) {
        let posix = matches!(base, "sh" | "dash" | "ash" | "posh" | "yash");
        let mut sub = self.child(sh, posix);
        sub.arg0 = base.to_owned();
        let (mut script, mut stdin, mut i) = (false, false, 1);
        let mut start = Start { posix, ..Start::default() };
        while i < argv.len() {
            let a = argv[i].as_str();
            if a == "--" || a == "-" {
                i += 1;
                break;
            }
            if !(a.starts_with('-') || a.starts_with('+')) || a.len() < 2 {
                break;
            }
            if a.starts_with("--") {
                match a {
                    "--version" | "--help" => {
                        self.put(sh, 1, &UNK.to_string());
                        return;
                    }
                    "--rcfile" | "--init-file" => {
                        i += 1;
                        start.rc = argv.get(i).cloned();
                    }
                    "--login" => start.login = true,
                    "--norc" => start.no_rc = true,
                    "--noprofile" => start.no_profile = true,
                    "--posix" => start.posix = true,
                    _ => {}
                }
                i += 1;
                continue;
            }
            let on = a.starts_with('-');
            for ch in a[1..].chars() {
                match ch {
                    'c' => script = true,
                    's' => stdin = true,
                    'i' => start.interactive = true,
                    'l' => start.login = on,
                    'o' | 'O' => {
                        i += 1;
                        let option = argv.get(i).and_then(|name| if ch == 'o' { sub.opts.named(name) } else { sub.opts.shopted(name) });
                        if let Some(option) = option {
                            *option = on;
                        }
                    }
                    other => {
                        if let Some(option) = sub.opts.letter(other) {
                            *option = on;
                        }
                    }
                }
            }
            i += 1;
        }
        if base == "zsh" {
            // no splitting there, and other patterns; reading it as bash is close enough, but not sure
            sub.opts.nullglob = false;
        }
        self.given_functions(&mut sub, base);
        if !sub.opts.noexec {
            self.start_files(&mut sub, base, &start);
        }
        if start.interactive && !posix {
            self.prompts(&mut sub);
        }
        let rest = argv.get(i..).unwrap_or(&[]);
        if script {
            let Some(text) = rest.first() else { return };
            if let Some(n) = rest.get(1) {
                sub.arg0.clone_from(n);
            }
            sub.args = rest.get(2..).unwrap_or(&[]).to_vec();
            self.script(&mut sub, text);
        } else if stdin || rest.is_empty() {
            sub.args = rest.to_vec();
            let text = self.take(sh, 0);
            self.script(&mut sub, &text);
        } else {
            let file = rest[0].clone();
            if sub.opts.noexec {
                return;
            }
            let text = self.content(sh, &file);
            if text.contains(UNK) && file.contains(UNK) && text.chars().all(|c| c == UNK) {
                self.unknown("the script is not known", &file);
                return;
            }
            sub.arg0.clone_from(&file);
            sub.args = rest[1..].to_vec();
            self.script(&mut sub, &text);
        }
        self.end(&mut sub);
        sh.status = sub.status;
    }

    /// What a shell with a prompt does before each line: variables that the command itself sets.
    fn prompts(&mut self, sub: &mut Shell) {
        for name in ["PROMPT_COMMAND", "PS0", "PS1", "PS2"] {
            let own = sub.vars.get(name).is_some_and(|var| var.exported);
            let Some(text) = own.then(|| self.var(sub, name)).flatten() else { continue };
            if name == "PROMPT_COMMAND" {
                self.script(&mut sub.clone(), &text);
            } else if text.contains(['$', '`']) {
                let parts = words::double_parts(&text);
                self.text(&mut sub.clone(), &parts);
            }
        }
    }

    /// Functions that came along in the environment.
    fn given_functions(&mut self, sub: &mut Shell, base: &str) {
        if !matches!(base, "bash" | "rbash") {
            return;
        }
        let given: Vec<String> = sub
            .vars
            .iter()
            .filter_map(|(name, var)| {
                let name = name.strip_prefix("BASH_FUNC_")?.strip_suffix("%%")?;
                match &var.value {
                    Value::Text(body) if var.exported && body.starts_with("()") => Some(format!("{name} {body}")),
                    _ => None,
                }
            })
            .collect();
        for function in given {
            self.script(sub, &function);
        }
    }

    /// The scripts that a shell reads before it begins: those that the command itself names, has made, or has moved the
    /// home directory to. The user's own ones are no part of the command.
    fn start_files(&mut self, sub: &mut Shell, base: &str, start: &Start) {
        let named = |e: &mut Self, sub: &Shell, name: &str| e.var(sub, name).filter(|file| !file.is_empty());
        let mut files: Vec<String> = Vec::new();
        let home = named(self, sub, "HOME").unwrap_or_else(|| UNK.to_string());
        let mut homely: Vec<&str> = Vec::new();
        match base {
            "bash" | "rbash" if !start.posix => {
                if start.login && !start.no_profile {
                    let one = [".bash_profile", ".bash_login", ".profile"].into_iter().find(|file| self.exists(sub, &join(&home, file)));
                    homely.extend(one);
                } else if start.interactive && !start.no_rc {
                    match &start.rc {
                        Some(file) => files.push(file.clone()),
                        None => homely.push(".bashrc"),
                    }
                }
                if !start.interactive {
                    files.extend(named(self, sub, "BASH_ENV"));
                }
            }
            "zsh" => {
                homely.push(".zshenv");
                if start.login {
                    homely.extend([".zprofile", ".zlogin"]);
                }
                if start.interactive {
                    homely.push(".zshrc");
                }
            }
            _ => {
                if start.login {
                    homely.push(".profile");
                }
                if start.interactive {
                    files.extend(named(self, sub, "ENV"));
                }
            }
        }
        let home = if base == "zsh" { named(self, sub, "ZDOTDIR").unwrap_or(home) } else { home };
        let moved = ["HOME", "ZDOTDIR"].iter().any(|name| sub.vars.contains_key(*name));
        for file in homely {
            let file = join(&home, file);
            let full = self.full(sub, &file);
            if moved || self.fs.made(&full) {
                files.push(file);
            }
        }
        for file in files {
            let text = self.content(sub, &file);
            self.script(sub, &text);
        }
    }

    /// A shell with another language: what is plain in it reads like ours; what is not stays unknown.
    pub(crate) fn other_shell(&mut self, sh: &mut Shell, base: &str, argv: &[String]) {
        match argv.iter().position(|a| a == "-c").and_then(|i| argv.get(i + 1)) {
            Some(text) => {
                let mut sub = self.child(sh, false);
                let text = text.clone();
                self.script(&mut sub, &text);
                self.unknown("another shell's language", base);
            }
            None if argv.len() > 1 && argv[1..].iter().all(|a| a.starts_with("--")) => {}
            None => self.unknown("another shell's language", base),
        }
    }
}
