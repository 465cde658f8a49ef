//! Every command in README, the guide and the skill is run, in the order in which a reader would.
//!
//! A page is read for its `console` blocks: `$ ` begins a command, `> ` goes on with it, everything else is what it prints. One bash runs a
//! whole page, in a home of its own. What the page takes for granted, what happens between two commands, which end with another code than 0
//! and which can't be run here is said in `worlds.yaml`, with a reason; an entry that fits nothing fails as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde::Deserialize;

use crate::reference::not_run;
use crate::sandbox::{Run, Sandbox};

/// What is said about one page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct World {
    /// Bash that fails where this machine has no way to run the page; that is said then.
    needs: Option<String>,
    /// Bash that makes what the page takes for granted; it starts in the home.
    #[serde(default)]
    world: String,
    /// What is said about commands, in the order of the page.
    #[serde(default)]
    steps: Vec<Step>,
}

/// What is said about the next command that begins so.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at: String,
    /// Bash that is run before it: what others do meanwhile.
    before: Option<String>,
    /// What is run in its place: the same, for a test.
    instead: Option<String>,
    #[serde(default)]
    exit: i32,
    /// Why it is not run at all.
    not_run: Option<String>,
}

/// A command of a page, and what it should print; `None` where the page does not say.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    line: usize,
    command: String,
    prints: Option<Vec<String>>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The commands of a page.
fn commands(page: &str) -> Vec<Said> {
    let mut found: Vec<Said> = Vec::new();
    let (mut inside, mut first) = (false, false);
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
            first = true;
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            found.push(Said { line: at + 1, command: command.to_owned(), prints: None });
            first = false;
        } else if inside {
            assert!(!first, "line {}: a block begins with a command", at + 1);
            let last = found.last_mut().unwrap();
            match line.strip_prefix("> ").filter(|_| last.prints.is_none()) {
                Some(more) => _ = write!(last.command, "\n{more}"),
                None => last.prints.get_or_insert_default().push(line.to_owned()),
            }
        }
    }
    found
}

/// Everything that differs from run to run, made equal.
fn same(line: &str, home: &str) -> String {
    let rules = [
        (r"\d{8}T\d{6}Z-[0-9a-f]{16}", "ID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d\d(:\d\d)?|Z)", "TIME"),
        (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
        (r"loci1:[0-9a-f]{4,}…?", "LOADOUT"),
        (r"\b[0-9a-f]{12,}\b|\b[0-9a-f]{4,}…", "HEX"),
        (r"  +", "  "),
    ];
    let line = line.trim_end().replace(home, "/home/ann");
    rules.iter().fold(line, |line, (from, to)| Regex::new(from).unwrap().replace_all(&line, *to).into_owned())
}

/// Whether lines are those that were said; `…` stands for any number of them.
fn fits(said: &[String], came: &[String]) -> bool {
    match said.split_first() {
        None => came.is_empty(),
        Some((any, rest)) if any.trim() == "…" => (0..=came.len()).any(|skip| fits(rest, &came[skip..])),
        Some((line, rest)) => came.split_first().is_some_and(|(first, more)| first == line && fits(rest, more)),
    }
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Runs a page; what is wrong, one entry each.
fn run(page: &str, world: &World, common: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let said = commands(&text);
    let sandbox = Sandbox::new();
    let home = sandbox.path("home");
    sandbox.link("bin/loci", env!("CARGO_BIN_EXE_loci"));
    let mut steps = world.steps.iter().peekable();
    let needs = world.needs.as_deref().map(|needs| format!("if ! {needs} > /dev/null 2>&1; then echo $'\\001lacks'; exit; fi\n"));
    let mut script = format!("set -o pipefail\ncd ~\n{common}\n{}{}\necho; echo $'\\001ready'\n", needs.unwrap_or_default(), world.world);
    let mut expected = Vec::new();
    let mut wrong = Vec::new();
    let asked = Regex::new(r"\b(ID2?|HASH)\b").unwrap();
    for (at, one) in said.iter().enumerate() {
        let step = steps.next_if(|step| one.command.starts_with(&step.at));
        if step.is_some_and(|step| step.not_run.is_some()) {
            continue;
        }
        if let Some(before) = step.and_then(|step| step.before.as_deref()) {
            let _ = writeln!(script, "{{ {before}\n}} > ~/.before 2>&1 || {{ echo; echo $'\\001before'; cat ~/.before; }}");
        }
        // What the page writes as ID is asked of a function of that name in the world.
        let command = step.and_then(|step| step.instead.as_deref()).unwrap_or(&one.command);
        let command = asked.replace_all(command, r#""$$($1)""#);
        let _ = writeln!(script, "echo; echo $'\\001begin'\neval {} < /dev/null\necho $'\\n\\001end' $? {at}", quoted(&command));
        expected.push((at, step.map_or(0, |step| step.exit)));
    }
    wrong.extend(steps.map(|step| format!("{page}: worlds.yaml speaks of `{}`, and no such command comes there", step.at)));

    let mut bash = Command::new("bash");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = [home.join("bin"), sandbox.path("bin")].into_iter().chain(std::env::split_paths(&path));
    bash.args(["--norc", "--noprofile", "-c", &format!("exec 2>&1\n{script}")])
        .env_clear()
        .env("PAGE", root().join(page))
        .env("PATH", std::env::join_paths(dirs).unwrap())
        .env("HOME", &home)
        .env("TMPDIR", sandbox.dir("tmp").path("tmp"))
        .env("TZ", "UTC")
        .env("LANG", "C.UTF-8")
        .env("USER", "ann")
        .env("LOCI_ANCESTORS", "sh")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(&home);
    let out = Run::of(&mut bash, Some(b"")).stdout;
    if out == "\u{1}lacks\n" {
        not_run(&format!("{page}: `{}` fails on this machine", world.needs.as_deref().unwrap_or_default()));
        return wrong;
    }
    let home = home.to_string_lossy();
    let Some((before, out)) = out.split_once("\u{1}ready\n").filter(|(before, _)| before.trim().is_empty()) else {
        return vec![format!("{page}: its world was not made:\n{out}")];
    };
    debug_assert!(before.trim().is_empty());
    let mut pieces = out.split("\u{1}begin\n");
    let mut between = pieces.next().unwrap_or_default().to_owned();
    for (at, code) in expected {
        let one = &said[at];
        let place = format!("{page}:{}: $ {}", one.line, one.command);
        if between.contains("\u{1}before\n") {
            wrong.push(format!("{place}\n  what comes before it failed:\n{between}"));
        }
        let Some((printed, rest)) = pieces.next().and_then(|piece| piece.split_once("\n\u{1}end ")) else {
            wrong.push(format!("{place}\n  was not reached"));
            break;
        };
        let (end, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        between = rest.to_owned();
        let came: Vec<String> = printed.trim_end().lines().map(|line| same(line, &home)).collect();
        if end != format!("{code} {at}") {
            wrong.push(format!("{place}\n  ended with {end}, not {code}:\n    {}", came.join("\n    ")));
        } else if let Some(prints) = &one.prints {
            let prints: Vec<String> = prints.iter().map(|line| same(line, &home)).collect();
            if !fits(&prints, &came) {
                wrong.push(format!("{place}\n  should print\n    {}\n  and prints\n    {}", prints.join("\n    "), came.join("\n    ")));
            }
        }
    }
    wrong
}

/// The pages with commands in them.
fn pages() -> BTreeSet<String> {
    let docs = walkdir::WalkDir::new(root().join("docs")).into_iter().map(Result::unwrap).map(walkdir::DirEntry::into_path);
    docs.chain([root().join("README.md")])
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .filter(|path| !commands(&fs::read_to_string(path).unwrap()).is_empty())
        .map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .collect()
}

fn worlds() -> BTreeMap<String, World> {
    serde_yaml::from_str(&fs::read_to_string(root().join("tests/it/pages/worlds.yaml")).unwrap()).unwrap()
}

#[test]
fn every_page_with_commands_has_a_world() {
    let known: BTreeSet<String> = worlds().into_keys().filter(|name| name != "common").collect();
    assert_eq!(known, pages());
    let tried: BTreeSet<String> = TRIED.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(tried, pages(), "each of them needs a test of its own, below");
}

macro_rules! run_pages {
    ($($name:ident: $page:literal,)*) => {
        const TRIED: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $name() {
                let worlds = worlds();
                let wrong = run($page, &worlds[$page], &worlds["common"].world);
                assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
            }
        )*
    };
}

run_pages! {
    readme_runs: "README.md",
    first_steps_run: "docs/guide/first-steps.md",
    nightly_runs: "docs/guide/nightly.md",
    limits_run: "docs/guide/limits.md",
    leaving_runs: "docs/guide/leaving.md",
    bodies_run: "docs/guide/bodies.md",
    clock_runs: "docs/guide/clock.md",
    connect_runs: "docs/guide/connect.md",
    custody_runs: "docs/guide/custody.md",
    hooks_run: "docs/guide/hooks.md",
    kernel_custody_runs: "docs/guide/kernel-custody.md",
    loadouts_run: "docs/guide/loadouts.md",
    tree_runs: "docs/guide/tree.md",
    skill_runs: "docs/skill/loci/SKILL.md",
}

#[test]
fn the_runner_can_see() {
    let said = commands("x\n```console\n$ a <<E\n> b\n> E\none\n…\n$ c\n```\n```sh\n$ no\n```\n");
    let commands: Vec<(usize, &str, bool)> = said.iter().map(|one| (one.line, one.command.as_str(), one.prints.is_some())).collect();
    assert_eq!(commands, [(3, "a <<E\nb\nE", true), (8, "c", false)]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n…\nb"), &lines("a\nx\ny\nb")) && fits(&lines("…"), &[]));
    assert!(!fits(&lines("a"), &lines("a\nb")) && !fits(&lines("a\n…\nc"), &lines("a\nb")));
    let id = "20261130T101522Z-6f3a9c2e71d04b58  new     a  3f9c… 2026-12-01T03:00:00Z  ";
    assert_eq!(same(id, "/x"), "ID  new  a  HEX TIME");
    // A page that lies is caught: by what is printed, by how it ends, by a command that is not there.
    let page = "target/tmp/lying.md";
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lying.md");
    fs::write(&file, "```console\n$ echo one\ntwo\n$ false\n$ echo fine\nfine\n```\n").unwrap();
    let page = if root().join(page).exists() { page.to_owned() } else { file.to_string_lossy().into_owned() };
    let step = |at: &str, exit| Step { at: at.to_owned(), before: None, instead: None, exit, not_run: None };
    let world = World { needs: None, world: String::new(), steps: vec![step("gone", 0)] };
    let wrong = run(&page, &world, "");
    assert_eq!(wrong.len(), 3, "{wrong:#?}");
    let world = World { needs: None, world: String::new(), steps: vec![step("false", 1)] };
    assert_eq!(run(&page, &world, "").len(), 1);
}

/// The code spans and blocks of a page in which loci is called: its words.
fn calls(page: &str) -> Vec<String> {
    let spans = Regex::new(r"`loci ([^`\n]+)`").unwrap();
    spans.captures_iter(page).map(|found| found[1].to_owned()).collect()
}

#[test]
fn what_a_page_names_is_there() {
    let root_command = loci::cli::help::built();
    let mut unknown = Vec::new();
    let templates = walkdir::WalkDir::new(root().join("templates")).into_iter().map(|entry| entry.unwrap().into_path());
    let docs = walkdir::WalkDir::new(root().join("docs")).into_iter().map(|entry| entry.unwrap().into_path());
    let mut seen = 0;
    for path in docs.chain(templates).chain([root().join("README.md"), root().join("CHANGELOG.md")]) {
        if path.extension().is_none_or(|end| end != "md") || path.ends_with("cli-reference.md") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for call in calls(&text) {
            seen += 1;
            let mut command = &root_command;
            let mut words = call.split_whitespace().take_while(|word| !matches!(*word, "--" | "|" | ">"));
            let Some(verb) = words.next().filter(|word| word.chars().all(|c| c.is_ascii_lowercase())) else { continue };
            match command.find_subcommand(verb) {
                Some(found) => command = found,
                None => {
                    unknown.push(format!("{}: loci {call}: no such verb", path.display()));
                    continue;
                }
            }
            for word in words {
                if let Some(found) = command.find_subcommand(word) {
                    command = found;
                }
                let Some(flag) = word.trim_start_matches('[').strip_prefix("--") else { continue };
                let flag = flag.split(['=', ']', '|', ',']).next().unwrap_or_default();
                let has = |command: &clap::Command| {
                    command.get_arguments().any(|arg| arg.get_long() == Some(flag)) || matches!(flag, "help" | "version")
                };
                if !has(command) && !command.get_subcommands().any(has) {
                    unknown.push(format!("{}: loci {call}: no flag --{flag}", path.display()));
                }
            }
        }
    }
    assert!(seen > 150, "{seen}");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

/// The examples in the help of every verb are ones that the parser takes.
#[test]
fn what_help_gives_as_examples_can_be_said() {
    fn visit(command: &clap::Command, found: &mut Vec<String>) {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        found.extend(after.lines().filter_map(|line| line.strip_prefix("  loci ")).map(str::to_owned));
        command.get_subcommands().for_each(|verb| visit(verb, found));
    }
    let mut examples = Vec::new();
    visit(&loci::cli::help::built(), &mut examples);
    assert!(examples.len() > 80, "{}", examples.len());
    // The shell takes its words apart; what comes behind a pipe is not ours, and what stands far to the right is a remark.
    let remark = Regex::new(" {4,}.*").unwrap();
    let plain: Vec<_> = examples.iter().map(|line| remark.replace(line, "")).collect();
    let script: String =
        plain.iter().map(|line| format!("loci() {{ printf '%s\\0' loci \"$@\"; printf '\\n'; }}; loci {line}\n")).collect();
    for (line, example) in script.lines().zip(&examples) {
        let line = line.split(['|', '<', '>']).next().unwrap();
        let run = Run::of(Command::new("bash").args(["-c", line]), None).exits(0);
        let words: Vec<&str> = run.stdout.trim_end_matches('\n').split_terminator('\0').collect();
        if let Err(error) = loci::cli::help::command().try_get_matches_from(&words) {
            panic!("loci {example}\n{error}");
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:]*)(#[^)]*)?\)").unwrap();
    let heading = |text: &str| -> BTreeSet<String> {
        let plain = |line: &str| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let keep = |name: String| name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect::<String>();
        text.lines().filter(|line| line.starts_with('#')).map(|line| keep(plain(line))).collect()
    };
    let mut broken = Vec::new();
    let docs = walkdir::WalkDir::new(root().join("docs")).into_iter().map(|entry| entry.unwrap().into_path());
    for page in docs.chain([root().join("README.md")]).filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(&page).unwrap();
        for found in link.captures_iter(&text) {
            let to = if found[1].is_empty() { page.clone() } else { page.parent().unwrap().join(&found[1]) };
            let anchor = found.get(2).map(|anchor| anchor.as_str().trim_start_matches('#').to_owned());
            let there = fs::metadata(&to).is_ok();
            let anchored = anchor.is_none_or(|anchor| fs::read_to_string(&to).is_ok_and(|text| heading(&text).contains(&anchor)));
            if !there || !anchored {
                broken.push(format!("{}: {}", page.display(), &found[0]));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
