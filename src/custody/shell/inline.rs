//! Programs for interpreters: where their text comes from, and which of their calls write.

use super::Kind;
use super::engine::{Engine, UNK};
use super::found::Found;
use super::lex::Lang;
use super::picture;
use super::state::Shell;
use std::collections::{HashMap, HashSet};

/// Options of `node` that name what it writes, and by what word in its call that is done at all (any where there is none).
const NODE_FILES: &[(&str, char, &[&str])] = &[
    ("redirect-warnings", 'W', &[]),
    ("cpu-prof-dir", 'd', &["--cpu-prof"]),
    ("cpu-prof-name", 'W', &["--cpu-prof"]),
    ("heap-prof-dir", 'd', &["--heap-prof"]),
    ("heap-prof-name", 'W', &["--heap-prof"]),
    ("report-directory", 'd', REPORTS),
    ("report-dir", 'd', REPORTS),
    ("report-filename", 'W', REPORTS),
    ("diagnostic-dir", 'd', &["--cpu-prof", "--heap-prof", "writeReport", "writeHeapSnapshot", "--report-uncaught", "--heapsnapshot-near"]),
    ("trace-event-file-pattern", 'W', &["--trace-event"]),
    ("logfile", 'P', &["--prof", "--log"]),
    ("test-reporter-destination", 'W', &[]),
    ("localstorage-file", 'W', &[]),
    ("experimental-sea-config", 'W', &[]),
    ("build-snapshot-config", 'W', &[]),
    ("snapshot-blob", 'W', &["--build-snapshot"]),
];

/// What makes `node` write a report.
const REPORTS: &[&str] = &["writeReport", "--report-uncaught", "--report-on-fatal"];

/// Options of `node` whose value may be the next word.
const NODE_VALUES: &[&str] = &[
    "conditions",
    "env-file",
    "input-type",
    "trace-event-categories",
    "title",
    "icu-data-dir",
    "openssl-config",
    "dns-result-order",
    "unhandled-rejections",
    "test-name-pattern",
    "test-reporter",
    "watch-path",
    "disable-warning",
    "disable-proto",
    "report-signal",
    "heapsnapshot-signal",
    "experimental-default-type",
    "cpu-prof-interval",
    "heap-prof-interval",
    "max-http-header-size",
    "tls-cipher-list",
    "secure-heap",
];

/// Options of an interpreter that take a value.
fn with_value(lang: Lang) -> &'static str {
    match lang {
        Lang::Python => "cmWXQ",
        Lang::Node => "eprC",
        Lang::Perl => "eEIMmFCDx",
        Lang::Ruby => "erICEF",
        Lang::Php => "rRBEFdcftzS",
    }
}

impl Engine<'_> {
    /// An interpreter is run.
    pub(crate) fn interpreter(&mut self, sh: &mut Shell, which: &str, argv: &[String]) {
        let lang = match which {
            "python" => Lang::Python,
            "node" => Lang::Node,
            "perl" => Lang::Perl,
            "ruby" => Lang::Ruby,
            _ => Lang::Php,
        };
        let mut code: Vec<String> = Vec::new();
        let mut inplace: Option<String> = None;
        let mut look = false;
        let mut module: Option<String> = None;
        let mut cwd: Option<String> = None;
        let mut by_line = false;
        // after the program, what comes in is taken for more of it
        let mut goes_on = false;
        let (mut loads, mut dirs): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let given = self.given_options(sh, lang, argv);
        let argv = given.as_slice();
        let mut i = 1;
        while i < argv.len() {
            let a = argv[i].clone();
            if a == "--" {
                i += 1;
                break;
            }
            if !a.starts_with('-') || a == "-" {
                break;
            }
            if let Some(long) = a.strip_prefix("--") {
                let (n, v) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
                match n {
                    "version" | "help" | "copyright" | "check" | "ini" | "info" => look = true,
                    "eval" | "print" | "run" => {
                        code.push(
                            v.or_else(|| {
                                i += 1;
                                argv.get(i).cloned()
                            })
                            .unwrap_or_default(),
                        );
                    }
                    "require" | "import" | "loader" | "experimental-loader" if lang == Lang::Node => loads.extend(v.or_else(|| {
                        i += 1;
                        argv.get(i).cloned()
                    })),
                    _ if lang == Lang::Node && NODE_FILES.iter().any(|(name, ..)| *name == n) => {
                        let v = v.or_else(|| {
                            i += 1;
                            argv.get(i).cloned()
                        });
                        let (_, effect, by) = NODE_FILES.iter().find(|(name, ..)| *name == n).copied().unwrap_or(("", 'd', &[]));
                        let own = |word: &String| by.iter().any(|by| word.contains(by) && word.trim_start_matches('-') != n && *word != a);
                        if by.is_empty() || argv.iter().any(own) {
                            self.effect(sh, effect, &v.unwrap_or_default(), false);
                        }
                    }
                    _ if lang == Lang::Node && v.is_none() && NODE_VALUES.contains(&n) => i += 1,
                    "test" if lang == Lang::Node => self.unknown("a program that can do anything", "node --test"),
                    _ => {}
                }
                i += 1;
                continue;
            }
            let letters: Vec<char> = a[1..].chars().collect();
            let mut k = 0;
            while k < letters.len() {
                let ch = letters[k];
                let glued: String = letters[k + 1..].iter().collect();
                if ch == 'i' && matches!(lang, Lang::Perl | Lang::Ruby) {
                    inplace = Some(glued);
                    break;
                }
                if matches!(ch, '0' | 'l') && lang == Lang::Perl {
                    // digits belong to it
                    while letters.get(k + 1).is_some_and(char::is_ascii_hexdigit) && letters[k + 1].is_ascii_digit() {
                        k += 1;
                    }
                    k += 1;
                    continue;
                }
                goes_on |= matches!((ch, lang), ('i', Lang::Python | Lang::Node) | ('d', Lang::Perl));
                by_line |= matches!((ch, lang), ('n' | 'p', Lang::Perl | Lang::Ruby));
                look |= matches!(
                    (ch, lang),
                    ('V' | 'h', _)
                        | ('v', Lang::Perl | Lang::Node | Lang::Php)
                        | ('c', Lang::Perl | Lang::Ruby | Lang::Node)
                        | ('l' | 'i' | 'm', Lang::Php)
                );
                if with_value(lang).contains(ch) {
                    let bare = matches!((ch, lang), ('M' | 'm' | 'F' | 'C' | 'x' | 'D' | 'I', Lang::Perl) | ('C' | 'F' | 'E', Lang::Ruby))
                        && glued.is_empty()
                        && ch != 'I';
                    let v = if glued.is_empty() && !bare {
                        i += 1;
                        argv.get(i).cloned().unwrap_or_default()
                    } else {
                        glued
                    };
                    match (ch, lang) {
                        ('c', Lang::Python)
                        | ('e' | 'p', Lang::Node)
                        | ('e' | 'E', Lang::Perl)
                        | ('e', Lang::Ruby)
                        | ('r' | 'R' | 'B' | 'E', Lang::Php) => code.push(v),
                        ('m', Lang::Python) => module = Some(v),
                        ('X', Lang::Python) => {
                            if let Some(dir) = v.strip_prefix("pycache_prefix=") {
                                self.effect(sh, 'd', dir, false);
                            }
                        }
                        ('d', Lang::Php) => {
                            if let Some(file) = v.strip_prefix("error_log=") {
                                self.effect(sh, 'W', file, false);
                            }
                        }
                        ('f', Lang::Php) => {
                            let t = self.content(sh, &v);
                            code.push(t);
                        }
                        ('C', Lang::Ruby) => cwd = Some(v),
                        ('I', Lang::Perl | Lang::Ruby) => dirs.push(v),
                        ('r', Lang::Ruby | Lang::Node) => loads.push(v),
                        ('M' | 'm', Lang::Perl) => loads.push(v),
                        _ => {}
                    }
                    break;
                }
                k += 1;
            }
            i += 1;
            if (!code.is_empty() && lang == Lang::Python) || module.is_some() {
                break;
            }
        }
        let mut rest = argv.get(i.min(argv.len())..).unwrap_or(&[]).to_vec();
        dirs.extend(self.module_dirs(sh, lang, rest.first().filter(|_| code.is_empty() && module.is_none())));
        if lang == Lang::Ruby && loads.iter().any(|lib| lib == "un") {
            // `ruby -run -e cp -- FROM TO`: commands of the shell under their own names
            let known = ["cp", "ln", "mv", "rm", "mkdir", "rmdir", "install", "chmod", "touch"];
            match code.first().filter(|name| known.contains(&name.as_str())) {
                Some(name) => {
                    let words = rest.iter().filter(|word| *word != "--").cloned();
                    self.known(sh, &[name.clone()].into_iter().chain(words).collect::<Vec<_>>());
                }
                None => self.unknown("a program that can do anything", "ruby -run"),
            }
            return;
        }
        if look && code.is_empty() {
            self.put(sh, 1, &UNK.to_string());
            return;
        }
        if let Some(m) = module {
            if goes_on && self.has_input(sh) {
                self.unknown("what an interpreter is told after its program", &m);
            }
            self.python_module(sh, &m, &rest);
            return;
        }
        let mut stdin = None;
        let text = if code.is_empty() {
            match rest.first().map(String::as_str) {
                None | Some("-") => {
                    if !rest.is_empty() {
                        rest.remove(0);
                    }
                    let t = self.take(sh, 0);
                    stdin = Some(String::new());
                    t
                }
                Some(f) => {
                    let f = f.to_owned();
                    rest.remove(0);
                    if lang == Lang::Node
                        && matches!(f.as_str(), "run" | "test" | "install" | "x" | "task" | "add" | "build")
                        && self.what(sh, &f).is_none()
                    {
                        self.unknown("a program that can do anything", &argv[0]);
                        return;
                    }
                    if self.what(sh, &f).is_none() && !f.contains(UNK) && self.out.unknown.is_empty() && fd_like(&f) {
                        sh.status = Some(2);
                        return;
                    }
                    let whole = match lang {
                        // a directory stands for the program in it
                        Lang::Python if self.what(sh, &f) == Some(Kind::Dir) => picture::join(&f, "__main__.py"),
                        Lang::Node if self.what(sh, &f) == Some(Kind::Dir) => {
                            if self.what(sh, &picture::join(&f, "package.json")).is_some() {
                                self.unknown("a program that can do anything", &f);
                            }
                            picture::join(&f, "index.js")
                        }
                        _ => f,
                    };
                    self.content(sh, &whole)
                }
            }
        } else {
            code.join("\n")
        };
        if let Some(suffix) = inplace {
            for f in &rest {
                let full = self.full(sh, f);
                if full.contains(UNK) || self.fs.what(&full) == Some(Kind::File) || !self.out.unknown.is_empty() {
                    self.effect(sh, 'I', f, false);
                    if !suffix.is_empty() {
                        let b = if suffix.contains('*') { suffix.replace('*', picture::split(f).1) } else { format!("{f}{suffix}") };
                        self.act(sh, super::super::act::ActKind::Create, &b, false, false);
                    }
                }
            }
        }
        let text = if goes_on && stdin.is_none() && self.has_input(sh) {
            if lang == Lang::Perl {
                self.unknown("what a debugger is told to do", "perl");
            }
            stdin = Some(String::new());
            text + "\n" + &self.take(sh, 0)
        } else {
            text
        };
        let mut sub = sh.clone();
        if let Some(d) = cwd {
            sub.cwd = self.full(sh, &d);
        }
        let mut f = Found {
            e: self,
            sh: sub,
            lang,
            args: rest.clone(),
            stdin,
            aliases: HashMap::new(),
            printed: None,
            by_line,
            file_utils: false,
            dirs,
            modules: HashSet::new(),
        };
        for module in loads {
            f.load(&module);
        }
        if lang == Lang::Python {
            f.site();
        }
        f.program(&text);
        let said = f.printed.take().map_or_else(|| UNK.to_string(), |said| said + "\n");
        self.put(sh, 1, &said);
        sh.status = None;
    }
}

fn fd_like(f: &str) -> bool {
    !f.starts_with("/dev/")
}
