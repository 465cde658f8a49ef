//! `python -m`: modules that are programs.

use super::engine::{Engine, UNK};
use super::picture::{self, join};
use super::state::Shell;

impl Engine<'_> {
    pub(super) fn python_module(&mut self, sh: &mut Shell, m: &str, rest: &[String]) {
        match m {
            "json.tool" => {
                let files: Vec<&String> = rest.iter().filter(|a| !a.starts_with('-') || *a == "-").collect();
                if let Some(o) = files.get(1) {
                    let o = (*o).clone();
                    self.effect(sh, 'W', &o, false);
                }
            }
            "zipfile" | "tarfile" => {
                let k = rest.first().map(String::as_str);
                match k {
                    Some("-e" | "--extract") => {
                        let dir = rest.get(2).cloned().unwrap_or_else(|| ".".into());
                        if let Some(f) = rest.get(1) {
                            let f = f.clone();
                            self.take_out(sh, &f, &dir);
                        }
                    }
                    Some("-c" | "--create") => {
                        if let Some(f) = rest.get(1) {
                            self.effect(sh, 'W', f, false);
                        }
                    }
                    _ => {}
                }
            }
            "gzip" => {
                let unpack = rest.iter().any(|a| a == "-d" || a == "--decompress");
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    let to = if unpack { f.trim_end_matches(".gz").to_owned() } else { format!("{f}.gz") };
                    self.effect(sh, 'W', &to, false);
                }
            }
            "timeit" => {
                let c = super::options::parse(
                    "-n: -r: -u: -s: --number: --repeat: --unit: --setup: .",
                    &[&["timeit".to_owned()], rest].concat(),
                );
                let code: Vec<String> = c.values(&["-s", "--setup"]).into_iter().map(str::to_owned).chain(c.args.iter().cloned()).collect();
                self.interpreter(sh, "python", &["python3".to_owned(), "-c".to_owned(), code.join("\n")]);
                return;
            }
            "cProfile" | "profile" | "trace" => {
                let marks = match m {
                    "trace" => "-f:W --file:W -C:d --coverdir:d --ignore-module: --ignore-dir: .",
                    _ => "-o:W --outfile:W -s: --sort: -m: .",
                };
                let c = super::options::parse(marks, &[&[m.to_owned()], rest].concat());
                self.effects(sh, marks, &c);
                let module = c.value(&["-m"]).map(|module| vec!["-m".to_owned(), module.to_owned()]).unwrap_or_default();
                if !module.is_empty() || !c.args.is_empty() {
                    let words = [vec!["python3".to_owned()], module, c.args].concat();
                    self.interpreter(sh, "python", &words);
                }
                return;
            }
            "base64" | "calendar" | "this" | "platform" | "site" | "sysconfig" | "tokenize" | "ast" | "dis" | "http.server"
            | "unittest.mock" | "quopri" | "uuid" | "pydoc" => {}
            "compileall" | "py_compile" => {
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    let full = self.full(sh, f);
                    let dir = if self.fs.is_dir(&full) { f.clone() } else { picture::split(f).0.to_owned() };
                    self.effect(sh, 'd', &join(&dir, "__pycache__"), false);
                }
            }
            "venv" | "virtualenv" => {
                for f in rest.iter().filter(|a| !a.starts_with('-')) {
                    self.effect(sh, 'D', f, false);
                }
            }
            "black" | "isort" | "autopep8" | "yapf" | "ruff" => {
                let mut argv = vec![m.to_owned()];
                argv.extend(rest.iter().cloned());
                self.external(sh, &argv);
                return;
            }
            _ => self.unknown("a program that can do anything", m),
        }
        self.put(sh, 1, &UNK.to_string());
    }
}
