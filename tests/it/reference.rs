//! What is made out of the parser: the reference in the docs, completions, the manual.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Command as Parser;
use loci::cli::help;

use crate::sandbox::{Run, Sandbox};

/// How a page of the docs that is made by a test is written anew; part of what a failing test says.
fn page(path: &str, now: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("LOCI_WRITE_DOCS").is_some() {
        fs::write(&file, now).unwrap();
    }
    let was = fs::read_to_string(&file).unwrap_or_default();
    let differs = was.lines().zip(now.lines()).position(|(was, now)| was != now);
    let line = differs.unwrap_or_else(|| was.lines().count().min(now.lines().count())) + 1;
    let at = |text: &str| text.lines().nth(line - 1).unwrap_or_default().to_owned();
    assert!(
        was == now,
        "{path}:{line} is not what the program says. It has:\n  {}\nand should have:\n  {}\nTo write it anew: LOCI_WRITE_DOCS=1 cargo test --test it {}",
        at(&was),
        at(now),
        std::thread::current().name().unwrap_or_default(),
    );
}

/// The reference: the help of every verb, in the groups of `loci --help`.
fn reference() -> String {
    let root = help::built();
    let mut text = "# Every verb\n\nMade from the program's own parser; a test holds that it is what `loci help --all` says. What is in square brackets may be \
        left out. For the ideas behind the verbs see the [guide](../README.md#read-on), for exit codes and kinds of errors \
        [formats](FORMATS.md).\n"
        .to_owned();
    let everywhere = root.clone().render_help().to_string();
    let options = everywhere.split_once("\nOptions:\n").map(|(_, rest)| rest).unwrap_or_default();
    let everywhere = options.split_once("\nEverywhere:\n").map_or(options, |(_, rest)| rest).split("\n\n").next().unwrap_or_default();
    let _ = write!(text, "\n## What holds everywhere\n\n```text\n{}\n```\n", everywhere.trim_end());
    for (title, verbs) in help::groups() {
        let _ = write!(text, "\n## {title}\n");
        for verb in verbs {
            describe(&mut text, root.find_subcommand(verb).unwrap(), "loci", 3);
        }
    }
    text
}

fn describe(text: &mut String, command: &Parser, above: &str, depth: usize) {
    let path = format!("{above} {}", command.get_name());
    let _ = write!(text, "\n{} {path}\n\n```text\n{}\n```\n", "#".repeat(depth), help::own(command).trim_end());
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        describe(text, verb, &path, depth + 1);
    }
}

#[test]
fn cli_reference_is_what_the_parser_says() {
    page("docs/cli-reference.md", &reference());
}

/// What can be said next at a command, and at all below it.
struct Next {
    path: String,
    verbs: Vec<String>,
    flags: Vec<String>,
}

fn words(command: &Parser, path: &[&str], found: &mut Vec<Next>) {
    let verbs = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
    found.push(Next { path: path.join(" "), verbs, flags: flags.map(|flag| format!("--{flag}")).collect() });
    for verb in command.get_subcommands() {
        let path: Vec<&str> = path.iter().copied().chain([verb.get_name()]).collect();
        words(verb, &path, found);
    }
}

/// Says that something is not run on this machine, and why.
#[expect(clippy::print_stdout, reason = "a test that is not run says so")]
pub(crate) fn not_run(why: &str) {
    println!("not run: {why}");
}

/// A shell of this machine, or a line that says why it is not tried.
fn shell(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    if found.is_none() {
        not_run(&format!("{name} is not installed"));
    }
    found
}

fn script(sandbox: &Sandbox, shell: &str) -> PathBuf {
    let run = sandbox.loci("", ["completions", shell]).exits(0);
    sandbox.file(format!("completions.{shell}"), run.stdout);
    sandbox.path(format!("completions.{shell}"))
}

/// Runs a script in a real shell; what it printed, in lines.
fn lines(sandbox: &Sandbox, shell: &Path, args: &[&str], text: &str) -> Vec<String> {
    let mut command = Command::new(shell);
    command
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", sandbox.path("home"))
        .env("LANG", "C.UTF-8")
        .env("TERM", "dumb")
        .current_dir(sandbox.path(""))
        .stderr(Stdio::inherit());
    let run = Run::of(&mut command, Some(text.as_bytes())).exits(0);
    assert_eq!(run.stderr, "", "{}", run.stdout);
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_every_verb_and_flag() {
    let Some(bash) = shell("bash") else { return };
    let sandbox = Sandbox::new();
    let file = script(&sandbox, "bash");
    let mut all = Vec::new();
    words(&help::built(), &[], &mut all);
    assert!(all.len() > 90, "{}", all.len());
    // One shell for all of them: each question is a line of the words before, each answer a line.
    let ask = "ask() { COMP_WORDS=(loci \"$@\"); COMP_CWORD=$#; COMPREPLY=(); _loci loci \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; echo \"${COMPREPLY[@]}\"; }\n";
    let mut text = format!("source {}\n{ask}", file.display());
    for Next { path, .. } in &all {
        let _ = writeln!(text, "ask {path} ''\nask {path} --");
    }
    let _ = writeln!(text, "ask connect c\nask run --color n");
    let answers = lines(&sandbox, &bash, &["--norc", "--noprofile"], &text);
    assert_eq!(answers.len(), 2 * all.len() + 2);
    for (Next { path, verbs, flags }, answers) in all.iter().zip(answers.chunks(2)) {
        let has = |answer: &str, word: &String| answer.split(' ').any(|one| one == word);
        assert!(verbs.iter().all(|word| has(&answers[0], word)), "loci {path}: {verbs:?} are not all in {}", answers[0]);
        assert!(flags.iter().all(|word| has(&answers[1], word)), "loci {path}: {flags:?} are not all in {}", answers[1]);
    }
    let [harnesses, colours] = &answers[2 * all.len()..] else { panic!() };
    assert_eq!(harnesses, "claude cline codex copilot");
    assert_eq!(colours, "never");
}

#[test]
fn zsh_takes_its_completions() {
    let Some(zsh) = shell("zsh") else { return };
    let sandbox = Sandbox::new();
    fs::rename(script(&sandbox, "zsh"), sandbox.path("_loci")).unwrap();
    // A pseudo-terminal of zsh's own, in which somebody types and presses the tabulator.
    let typed = |line: &str| {
        let text = format!(
            "zmodload zsh/zpty\nzpty z zsh -f -i\nzpty -w z \"PROMPT= RPS1=; unsetopt zle_bracketed_paste; fpath=({} \\$fpath); autoload -U compinit; compinit -u; bindkey '^I' complete-word; zstyle ':completion:*' list-colors ''; print READY\"\n\
             zpty -r z out '*READY*READY*'\nzpty -w -n z $'{line}\\t'\nzpty -w -n z $'\\C-a echo \"<\\C-e>\"\\n'\nzpty -r z out '*>*>*'\nprint -r -- $out\nzpty -d z\n",
            sandbox.path("").display()
        );
        lines(&sandbox, &zsh, &["-f"], &text).join("\n")
    };
    let verb = typed("loci completi");
    assert!(verb.contains("completions"), "{verb}");
    let harness = typed("loci connect herm");
    assert!(harness.contains("hermes"), "{harness}");
}

#[test]
fn fish_completes_verbs_flags_and_values() {
    let Some(fish) = shell("fish") else { return };
    let sandbox = Sandbox::new();
    let file = script(&sandbox, "fish");
    let asked = |line: &str| lines(&sandbox, &fish, &["--no-config"], &format!("source {}\ncomplete -C '{line}'\n", file.display()));
    let has = |line: &str, word: &str| {
        let answers = asked(line);
        assert!(answers.iter().any(|one| one.split('\t').next() == Some(word)), "{line}: {answers:?}");
    };
    has("loci completi", "completions");
    has("loci inbox ta", "take");
    has("loci own --no", "--note");
    has("loci connect herm", "hermes");
}

#[test]
fn the_manual_has_a_page_for_every_verb() {
    let sandbox = Sandbox::new();
    let dry = sandbox.loci("", ["man", "--dir", "new/man1", "--dry-run"]).exits(0);
    assert!(!sandbox.path("new").exists(), "{}", dry.stdout);
    let run = sandbox.loci("", ["man", "--dir", "new/man1", "--json"]).exits(0).json();
    let mut all = Vec::new();
    words(&help::built(), &[], &mut all);
    for Next { path, .. } in &all {
        let name: Vec<&str> = std::iter::once("loci").chain(path.split_whitespace()).collect();
        let page = sandbox.read(format!("new/man1/{}.1", name.join("-")));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert_eq!(run["written"].as_array().unwrap().len(), all.len());
    assert_eq!(sandbox.loci("", ["man"]).exits(0).stdout, sandbox.read("new/man1/loci.1"));
    assert_eq!(sandbox.loci("", ["man", "inbox", "take"]).exits(0).stdout, sandbox.read("new/man1/loci-inbox-take.1"));
    // Once more there is nothing to do; a page that was changed is set right.
    assert_eq!(sandbox.loci("", ["man", "--dir", "new/man1"]).exits(0).stdout, "every page is there as it should be\n");
    sandbox.file("new/man1/loci-own.1", "old");
    assert_eq!(sandbox.loci("", ["man", "--dir", "new/man1"]).exits(0).stdout, "wrote new/man1/loci-own.1\n");
    let near = sandbox.loci("", ["man", "inbx"]).exits(2);
    assert!(near.stderr.contains("did you mean `inbox`?"), "{}", near.stderr);
    // A program that reads manuals finds nothing to complain about.
    let Some(mandoc) = shell("mandoc") else { return };
    for page in ["loci", "loci-run", "loci-inbox-take"] {
        let file = sandbox.path(format!("new/man1/{page}.1"));
        let run = Run::of(Command::new(&mandoc).args(["-T", "lint", "-W", "error"]).arg(&file), None).exits(0);
        assert_eq!(run.stdout, "", "{page}");
    }
}

#[test]
fn an_agent_writes_no_page_into_what_is_somebody_elses() {
    let sandbox = Sandbox::new();
    sandbox.file("r/bob/.loci/owner.md", "---\nowner: bob\n---\n").file("r/alice/.loci/agent.md", "---\nid: alice\n---\n");
    let mut command = sandbox.command("r/alice");
    command.env("LOCI_AGENT", "alice").args(["man", "--dir", "../bob/man"]);
    let run = Run::of(&mut command, None).exits(1);
    assert!(run.stderr.contains("bob's") && !sandbox.path("r/bob/man").exists(), "{}", run.stderr);
}
