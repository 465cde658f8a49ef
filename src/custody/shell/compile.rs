//! Compilers and linkers: what they write beside what `-o` names.

use super::engine::{Engine, UNK};
use super::options::Call;
use super::picture::{join, split};
use super::state::Shell;

/// Options of a compiler that name a file in the same word: how the word begins, and what happens to what follows.
const GLUED: &[(&str, char)] = &[
    ("-fdiagnostics-crash-dir=", 'd'),
    ("-fcrash-diagnostics-dir=", 'd'),
    ("-foptimization-record-file=", 'W'),
    ("-fmodule-output=", 'W'),
    ("-ftime-trace=", 'P'),
    ("-fprofile-note=", 'W'),
    ("-MJ", 'W'),
    ("-MF", 'W'),
];

/// Options whose value is the next word.
const NEXT: &[(&str, char)] = &[
    ("-aux-info", 'W'),
    ("--serialize-diagnostics", 'W'),
    ("-serialize-diagnostics", 'W'),
    ("-dependency-file", 'W'),
    ("-MJ", 'W'),
    ("-MF", 'W'),
];

/// What makes a compiler leave files beside its output, or where `-dumpdir` says.
const ASIDE: &[&str] = &[
    "-fdump-",
    "-da",
    "-fcallgraph-info",
    "-fstack-usage",
    "-gsplit-dwarf",
    "--coverage",
    "-ftest-coverage",
    "-ftime-trace",
    "-fsave-optimization-record",
];

/// Options of a linker that name what it writes.
const LINKER: &[&str] =
    &["-Map", "--Map", "-o", "--output", "--dependency-file", "--out-implib", "-out-implib", "--reproduce", "--time-trace-file"];

impl Engine<'_> {
    /// Words of a call with `@FILE` replaced by what stands in it.
    pub(super) fn with_answers(&mut self, sh: &Shell, argv: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for word in argv {
            match word.strip_prefix('@').filter(|file| !file.is_empty() && self.exists(sh, file)) {
                Some(file) => {
                    let text = self.content(sh, file);
                    out.extend(text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()));
                }
                None => out.push(word.clone()),
            }
        }
        out
    }

    pub(super) fn compile(&mut self, sh: &mut Shell, marks: &str, argv: &[String]) {
        let argv = self.with_answers(sh, argv);
        let c = &taken_apart(&argv);
        self.effects(sh, marks, c);
        self.compile_aside(sh, c, &argv);
        for name in ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"] {
            if let Some(value) = self.var(sh, name).filter(|_| sh.vars.contains_key(name)) {
                let file = value.split(' ').next().unwrap_or("").to_owned();
                self.effect(sh, 'W', &file, false);
            }
        }
        if c.has(&["-o"])
            || argv.iter().any(|word| matches!(word.as_str(), "-E" | "-M" | "-MM" | "-v" | "-fsyntax-only"))
            || c.args.is_empty()
        {
            return;
        }
        let ending = if c.has(&["-S"]) {
            ".s"
        } else if c.has(&["-c"]) {
            ".o"
        } else {
            self.effect(sh, 'W', "a.out", false);
            return;
        };
        for source in &c.args {
            self.effect(sh, 'W', &format!("{}{ending}", stem(split(source).1)), false);
        }
    }

    /// What a compiler is told to write beside its output.
    fn compile_aside(&mut self, sh: &mut Shell, c: &Call, argv: &[String]) {
        let output = argv
            .iter()
            .position(|word| word == "-o")
            .and_then(|at| argv.get(at + 1))
            .cloned()
            .or_else(|| c.value(&["-o"]).map(str::to_owned));
        let (mut linker, mut assembler): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let (mut dump_dir, mut base) = (None, None);
        let (mut aside, mut temporary, mut depends, mut depends_named) = (false, None, false, false);
        let mut i = 1;
        while let Some(word) = argv.get(i) {
            let next = argv.get(i + 1).cloned().unwrap_or_default();
            let named = |list: &[(&str, char)]| list.iter().find(|(name, _)| name == word).map(|found| found.1);
            match word.as_str() {
                "-Xlinker" => linker.push(next),
                "-Xassembler" => assembler.push(next),
                "-Xpreprocessor" => {}
                "-dumpdir" => dump_dir = Some(next),
                "-dumpbase" => base = Some(next),
                "-wrapper" => self.effect(sh, 'Y', &next.replace(',', " "), false),
                "-save-temps" | "--save-temps" | "-save-temps=cwd" => temporary = Some(String::new()),
                "-save-temps=obj" | "--save-temps=obj" => temporary = output.clone(),
                "-MD" | "-MMD" => depends = true,
                _ if named(NEXT).is_some() => self.effect(sh, named(NEXT).unwrap_or('W'), &next, false),
                _ => {}
            }
            if let Some(words) = word.strip_prefix("-Wl,") {
                linker.extend(words.split(',').map(str::to_owned));
            } else if let Some(words) = word.strip_prefix("-Wa,") {
                assembler.extend(words.split(',').map(str::to_owned));
            } else if let Some(words) = word.strip_prefix("-Wp,") {
                let words: Vec<&str> = words.split(',').collect();
                for pair in words.windows(2).filter(|pair| matches!(pair[0], "-MD" | "-MMD" | "-MF" | "-o")) {
                    self.effect(sh, 'W', pair[1], false);
                }
            } else if let Some(file) =
                word.strip_prefix("-fdump-").or_else(|| word.strip_prefix("-fopt-info")).and_then(|rest| rest.split_once('='))
            {
                self.effect(sh, 'W', file.1, false);
            } else if let Some((begin, effect)) = GLUED.iter().find(|(begin, _)| word.starts_with(begin) && word.len() > begin.len()) {
                self.effect(sh, *effect, &word[begin.len()..], false);
            } else {
                aside |= ASIDE.iter().any(|begin| word.starts_with(begin));
            }
            depends_named |= word.starts_with("-MF");
            i += 1;
        }
        self.link_aside(sh, &linker);
        self.assemble_aside(sh, &assembler);
        let beside = output.as_deref().map(|file| split(file).0.to_owned());
        if aside || temporary.is_some() {
            let based = base.filter(|base| base.contains('/')).map(|base| split(&base).0.to_owned());
            let beside = if aside || temporary.as_deref().is_some_and(|file| !file.is_empty()) { beside.clone() } else { None };
            match dump_dir {
                Some(prefix) => self.effect(sh, 'P', &prefix, false),
                None => self.effect(sh, 'd', &based.or(beside).filter(|dir| !dir.is_empty()).unwrap_or_else(|| ".".into()), false),
            }
        }
        if depends && !depends_named {
            match &output {
                Some(file) => self.effect(sh, 'W', &join(split(file).0, &format!("{}.d", stem(split(file).1))), false),
                None => {
                    for source in &c.args {
                        self.effect(sh, 'W', &format!("{}.d", stem(split(source).1)), false);
                    }
                }
            }
        }
    }

    /// `ld` and `as` by themselves.
    pub(super) fn link(&mut self, sh: &mut Shell, which: &str, marks: &str, argv: &[String]) {
        let argv = self.with_answers(sh, argv);
        let c = super::options::parse(marks, &argv);
        self.effects(sh, marks, &c);
        if which == "ld" {
            self.link_aside(sh, &argv)
        } else {
            self.assemble_aside(sh, &argv)
        }
        if !c.has(&["-o", "--output", "--version", "-v", "-V"]) && !c.args.is_empty() {
            self.effect(sh, 'W', "a.out", false);
        }
    }

    /// What options of a linker name.
    fn link_aside(&mut self, sh: &mut Shell, words: &[String]) {
        for (i, word) in words.iter().enumerate() {
            let file = match word.split_once('=') {
                Some((name, file)) => LINKER.contains(&name).then(|| file.to_owned()),
                None => words.get(i + 1).filter(|_| LINKER.contains(&word.as_str())).cloned(),
            };
            if let Some(file) = file {
                self.effect(sh, 'W', &file, false);
            }
        }
    }

    /// What options of an assembler name: `-a[dhlns]=FILE`, `--MD FILE`, `-o FILE`.
    pub(super) fn assemble_aside(&mut self, sh: &mut Shell, words: &[String]) {
        for (i, word) in words.iter().enumerate() {
            let listing =
                word.strip_prefix("-a").and_then(|rest| rest.split_once('=')).filter(|(kinds, _)| kinds.chars().all(char::is_alphabetic));
            if let Some((_, file)) = listing {
                self.effect(sh, 'W', file, false);
            } else if matches!(word.as_str(), "--MD" | "-o")
                && let Some(file) = words.get(i + 1)
            {
                self.effect(sh, 'W', file, false);
            }
        }
    }

    pub(super) fn rustc(&mut self, sh: &mut Shell, c: &Call) {
        if c.args.is_empty() || c.has(&["--print", "-V", "-vV"]) {
            return;
        }
        for kinds in c.values(&["--emit"]) {
            for (_, file) in kinds.split(',').filter_map(|kind| kind.split_once('=')) {
                self.effect(sh, 'W', file, false);
            }
        }
        match (c.value(&["-o"]), c.value(&["--out-dir"])) {
            (Some(o), _) => self.effect(sh, 'W', o, false),
            (None, Some(d)) => self.effect(sh, 'd', d, false),
            _ => self.effect(sh, 'd', ".", false),
        }
    }

    pub(super) fn go_tool(&mut self, sh: &mut Shell, argv: &[String]) {
        match argv.get(1).map(String::as_str) {
            Some("version" | "env" | "list" | "doc" | "help" | "vet") => {}
            Some("build" | "test") if argv.iter().any(|a| a == "-o") => {
                if let Some(o) = argv.iter().position(|a| a == "-o").and_then(|i| argv.get(i + 1)) {
                    self.effect(sh, 'W', o, false);
                }
            }
            _ => self.unknown("a program that can do anything", "go"),
        }
        self.put(sh, 1, &UNK.to_string());
    }

    /// `strip` and `objcopy` change their operand, unless another file is named.
    pub(super) fn strip(&mut self, sh: &mut Shell, marks: &str, c: &Call) {
        self.effects(sh, marks, c);
        if !c.has(&["-o"]) {
            let out = if c.name == "objcopy" && c.args.len() > 1 { &c.args[1..] } else { &c.args[..] };
            for a in out {
                self.effect(sh, 'I', a, false);
            }
        }
    }
}

/// Options of a compiler with a value: in the next word, or in the same.
const VALUES: &[&str] = &["-o", "-I", "-L", "-l", "-D", "-U", "-x", "-T", "-u", "-z", "-B", "-MF", "-MT", "-MQ", "-MJ"];

/// Options whose value is always the next word.
const APART: &[&str] = &[
    "-include",
    "-isystem",
    "-imacros",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-arch",
    "-target",
    "-e",
    "-A",
    "-dumpdir",
    "-dumpbase",
    "-dumpbase-ext",
    "-aux-info",
    "-wrapper",
    "-framework",
    "-rpath",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "--param",
    "-G",
];

/// A compiler's words: its options are whole words, never letters side by side.
fn taken_apart(argv: &[String]) -> Call {
    let mut c = Call { name: split(argv.first().map_or("", String::as_str)).1.to_owned(), ..Call::default() };
    let mut i = 1;
    while let Some(word) = argv.get(i) {
        i += 1;
        if !word.starts_with('-') || word == "-" {
            c.args.push(word.clone());
        } else if APART.contains(&word.as_str()) || VALUES.contains(&word.as_str()) {
            c.opts.push((word.clone(), argv.get(i).cloned()));
            i += 1;
        } else {
            let glued = VALUES.iter().find(|name| word.strip_prefix(**name).is_some_and(|rest| !rest.is_empty()));
            match glued.filter(|name| name.len() == 2 && !word.starts_with("-M")) {
                Some(name) => c.opts.push(((*name).to_owned(), Some(word[2..].to_owned()))),
                None => c.opts.push((word.clone(), None)),
            }
        }
    }
    c
}

/// A name without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |parts| parts.0)
}
