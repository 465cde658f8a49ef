//! Programs that look on while another one runs, and programs that reach for another machine: what they write here.

use super::engine::{Engine, UNK};
use super::options::parse;
use super::state::Shell;

/// Options of `perf record` and its like that have a value.
const PERF: &str = "-o:W --output:W -e: --event: -p: --pid: -t: --tid: -c: --count: -F: --freq: -C: --cpu: -u: --uid: -a -r: --repeat: -I: \
    --interval-print: -x: --field-separator: -G: --cgroup: -M: --metrics: -D: --delay: --log-fd: --pre: --post: --call-graph: -m: --mmap-pages: --filter: .";

impl Engine<'_> {
    /// Where `strace` writes: a file, or a program behind `|` or `!`.
    pub(super) fn traced(&mut self, sh: &mut Shell, argv: &[String]) {
        let c = parse("-o: --output: -e: -p: -s: -u: -E: -a: -O: -I: -P: -S: -X: -b: -U: --trace: --signal: .", argv);
        let Some(to) = c.value(&["-o", "--output"]).map(str::to_owned) else { return };
        match to.strip_prefix(['|', '!']) {
            Some(program) => self.effect(sh, 'Y', program, false),
            None if c.has(&["-ff", "--output-separately"]) || c.opts.iter().filter(|(o, _)| o == "-f").count() > 1 => {
                self.effect(sh, 'P', &format!("{to}."), false);
            }
            None => self.effect(sh, 'W', &to, false),
        }
    }

    /// `perf record -o FILE COMMAND`
    pub(super) fn perf(&mut self, sh: &mut Shell, argv: &[String]) {
        let verb = argv.get(1).map_or("", String::as_str).to_owned();
        self.put(sh, 1, &UNK.to_string());
        match verb.as_str() {
            "record" | "stat" | "trace" | "mem" | "lock" | "sched" | "kmem" | "ftrace" => {
                let c = parse(PERF, &argv[1..]);
                self.effects(sh, PERF, &c);
                let mut words = c.args.clone();
                if matches!(verb.as_str(), "mem" | "lock" | "sched" | "kmem") && words.first().is_some_and(|word| word == "record") {
                    words.remove(0);
                }
                if !matches!(verb.as_str(), "stat" | "trace" | "ftrace") && !c.has(&["-o", "--output"]) {
                    self.effect(sh, 'W', "perf.data", false);
                }
                if !words.is_empty() {
                    self.call(sh, words, false);
                }
            }
            "report" | "list" | "annotate" | "diff" | "version" | "--version" | "evlist" | "buildid-list" | "help" | "top" => {}
            _ => self.unknown("a program that can do anything", "perf"),
        }
    }

    /// What commands of `gdb` run or write; the program that it runs can do anything.
    pub(super) fn gdb(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = "-ex: -iex: --ex: --eval-command: -x: --command: -p: --pid: -c: --core: -s: -e: --args";
        let c = parse(marks, argv);
        for line in c.values(&["-ex", "-iex", "--ex", "--eval-command"]) {
            let line = line.trim();
            if let Some(script) = line.strip_prefix("shell ").or_else(|| line.strip_prefix('!')) {
                self.effect(sh, 'Y', script, false);
            }
            let after = ["set logging file ", "generate-core-file ", "gcore ", "save breakpoints ", "set logging redirect "];
            if let Some(file) = after.iter().find_map(|start| line.strip_prefix(start)) {
                self.effect(sh, 'W', file.trim(), false);
            }
            if let Some(("dump", rest)) = line.split_once(' ')
                && let Some(file) = rest
                    .split_whitespace()
                    .find(|word| !matches!(*word, "binary" | "srec" | "ihex" | "tekhex" | "verilog" | "memory" | "value"))
            {
                self.effect(sh, 'W', file, false);
            }
        }
        if !c.has(&["--version", "--help"]) {
            self.unknown("a program that can do anything", "gdb");
        }
        self.put(sh, 1, &UNK.to_string());
    }

    /// `ssh` runs its command elsewhere, but its log and what its options make it run are here.
    pub(super) fn ssh(&mut self, sh: &mut Shell, argv: &[String]) {
        let marks = ". -B: -b: -c: -D: -E:W -e: -F: -I: -i: -J: -L: -l: -m: -O: -o: -P: -p: -Q: -R: -S: -W: -w:";
        let c = parse(marks, argv);
        self.effects(sh, marks, &c);
        self.ssh_options(sh, "ssh", argv);
        if c.has(&["-F"]) {
            self.unknown("what settings of ssh make it run", "-F");
        }
    }

    /// What the options that `ssh`, `scp` and `sftp` share make them run.
    pub(super) fn ssh_options(&mut self, sh: &mut Shell, base: &str, argv: &[String]) {
        let marks = match base {
            "ssh" => ". -B: -b: -c: -D: -E: -e: -F: -I: -i: -J: -L: -l: -m: -O: -o: -P: -p: -Q: -R: -S: -W: -w:",
            _ => "-B: -b: -c: -D: -F: -i: -J: -l: -o: -P: -R: -S: -s: -X:",
        };
        let c = parse(marks, argv);
        if let Some(program) = c.value(&["-S"]).filter(|_| base != "ssh") {
            self.call(&mut sh.clone(), vec![program.to_owned()], false);
        }
        let options = c.values(&["-o"]).into_iter().filter_map(|option| option.split_once(['=', ' ']));
        let options: Vec<(String, String)> = options.map(|(name, value)| (name.to_lowercase(), value.trim_start().to_owned())).collect();
        for (name, value) in options {
            if matches!(name.as_str(), "proxycommand" | "localcommand" | "knownhostscommand") && value != "none" {
                self.effect(sh, 'Y', &value, false);
            }
        }
    }
}
