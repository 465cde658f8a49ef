//! Mutated commands: nothing panics, or takes more work than the budget of one reading. Work is counted in steps, not in
//! time, so that the answer is the same on every machine; `cargo bench --bench shell` says what a step takes.

use std::collections::BTreeMap;
use std::path::Path;

use loci::custody::shell::{self, Input, Words};

use crate::fuzz::rng::Rng;
use crate::fuzz::toy::Toy;

const BITS: &[&str] = &[
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "{",
    "}",
    "${",
    "$((",
    "))",
    "<<E\n",
    "\nE\n",
    "|",
    "&&",
    "||",
    ";",
    "&",
    ">",
    ">>",
    "<",
    "<(",
    ">(",
    "2>&1",
    "[[",
    "]]",
    "((",
    "if ",
    "then ",
    "fi",
    "while :; do ",
    "done",
    "for x in ",
    "case x in ",
    "esac",
    "f() { ",
    "f",
    "eval ",
    "bash -c ",
    "xargs ",
    "find . -exec ",
    "{} \\;",
    "{1..99999999}",
    "{a,b,c}{a,b,c}{a,b,c}{a,b,c}",
    "*",
    "**/*",
    "?",
    "[!a]",
    "$x",
    "${x//a/b}",
    "${x:=$x$x}",
    "x=$x$x",
    "\\",
    "\n",
    "\0",
    "é",
    "\u{10FFFD}",
    "~",
    "/dev/fd/63",
    "git ",
    "sed -i ",
    "s/\\(a*\\)*/\\1\\1/g",
    "awk '{print > $1}' ",
    "python3 -c ",
    "perl -e ",
    "node -e ",
    "tar xf ",
    "owned/a.txt",
    "999999999999999999999",
    "-",
    "--",
    "<<<",
    "$'\\x",
    "$\"",
    "!",
    "#",
    "@(",
    "+(a|",
    "set -- ",
    "$@",
    "alias f='f f'",
    "trap f EXIT",
    "exec 3<>",
    "read x",
    "printf '%99999999s' ",
    "(((((((((",
    "[[[[[[",
    "$($($($(",
    "{{{{{",
    "while true; do true; done",
    "until false; do f; done",
    "f() { f; f; }; f",
    ":(){ :|:& };:",
    "make -f- ",
    "x[$x]=1",
    "((x[x[x[0]]]++))",
    "seq 1 1000000",
    "yes | ",
    "cat /dev/zero | ",
];

fn seeds() -> Vec<String> {
    let cases = crate::cases::load("shell");
    let texts = cases.iter().filter_map(|case| case["command"].as_str()).map(str::to_owned);
    std::iter::once("echo a > owned/a.txt".to_owned()).chain(texts).collect()
}

fn mutate(rng: &mut Rng, seeds: &[String]) -> String {
    let mut s: Vec<char> = seeds[rng.below(seeds.len())].chars().collect();
    for _ in 0..=rng.below(6) {
        let at = rng.below(s.len() + 1);
        match rng.below(7) {
            0 => {
                let bit: Vec<char> = BITS[rng.below(BITS.len())].chars().collect();
                s.splice(at..at, bit);
            }
            1 => {
                let end = (at + rng.below(8)).min(s.len());
                s.drain(at..end);
            }
            2 => {
                let other: Vec<char> = seeds[rng.below(seeds.len())].chars().collect();
                let from = rng.below(other.len() + 1);
                s.splice(at..at, other[from..].to_vec());
            }
            3 => {
                let end = (at + rng.below(20)).min(s.len());
                let part = s[at..end].to_vec();
                for _ in 0..rng.below(12) {
                    s.splice(at..at, part.clone());
                }
            }
            4 if !s.is_empty() => {
                let k = rng.below(s.len());
                s[k] = char::from_u32(u32::try_from(rng.below(128)).unwrap_or(65)).unwrap_or('x');
            }
            5 => {
                let bit = BITS[rng.below(BITS.len())].repeat(rng.below(60));
                s.splice(at..at, bit.chars());
            }
            _ => {
                let bit: Vec<char> = BITS[rng.below(BITS.len())].chars().collect();
                s.extend(bit);
            }
        }
    }
    s.truncate(20_000);
    s.into_iter().collect()
}

/// What one command may use: the budget, and one last operation that ends it.
const BOUND: u64 = shell::BUDGET * 3;

/// Reads a command; how much work it was, or what is wrong with that.
fn work(text: &str, env: &BTreeMap<String, String>) -> Result<u64, String> {
    let input = Input { command: Words::Script(text), cwd: Path::new("/r"), env, home: None };
    let short: String = text.chars().take(400).collect();
    match std::panic::catch_unwind(|| shell::read(&input, &Toy)) {
        Err(_) => Err(format!("panic: {text:?}")),
        Ok(reading) if reading.spent > BOUND => Err(format!("{} units: {short:?}", reading.spent)),
        Ok(reading) if reading.spent > shell::BUDGET && reading.unknown.is_empty() => Err(format!("cut off and not said: {short:?}")),
        Ok(reading) => Ok(reading.spent),
    }
}

fn environment() -> BTreeMap<String, String> {
    [("HOME".to_owned(), "/r".to_owned()), ("PATH".to_owned(), "/bin".to_owned())].into()
}

/// For a number of commands, or `FUZZ_COUNT`; `FUZZ_SEED` sets where it starts.
#[test]
fn no_command_panics_or_takes_more_than_the_budget() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = seeds();
    let env = environment();
    let mut rng = Rng(number("FUZZ_SEED").unwrap_or(0x9E37_79B9_7F4A_7C15));
    let (mut largest, mut faults) = ((0, String::new()), Vec::new());
    for _ in 0..number("FUZZ_COUNT").unwrap_or(1_500) {
        let text = mutate(&mut rng, &seeds);
        match work(&text, &env) {
            Ok(units) if units > largest.0 => largest = (units, text),
            Ok(_) => {}
            Err(fault) => faults.push(fault),
        }
    }
    eprintln!("most work {}: {}", largest.0, largest.1.chars().take(300).collect::<String>());
    assert!(faults.is_empty(), "{}", faults.join("\n---\n"));
}

/// What grows without bound: nesting of every kind, closed and unclosed, and words of any length.
#[test]
fn nesting_and_long_words_stay_in_the_budget() {
    let env = environment();
    let mut texts = Vec::new();
    for open in [
        "${x:=${",
        "${x:=",
        "$(",
        "`",
        "$((",
        "\"$(",
        "\"${x:-",
        "<(",
        "{a,",
        "((",
        "[[ (",
        "if ",
        "case x in (a) ",
        "x=(",
        "@(",
        "eval '",
        "$'",
        "! ",
        "|a",
        ";a",
        "$(a)",
        "a b ",
        "*",
        "**/",
        "?(a|",
    ] {
        for count in [10, 39, 5_000] {
            texts.push(format!("echo {}", open.repeat(count)));
            texts.push(format!("echo {}a > owned/a.txt", open.repeat(count)));
        }
    }
    for (open, close) in [("$(", ")"), ("${x:-", "}"), ("(", ")"), ("{ ", "; }"), ("\"$(echo ", ")\"")] {
        for count in [5, 10, 14, 24, 39, 300] {
            texts.push(format!("echo {}a{}", open.repeat(count), close.repeat(count)));
        }
    }
    let long = "ab*[c]".repeat(20_000);
    for program in ["grep", "sed", "awk", "rm", "echo", "find . -name", "[[ $x == ", "case $x in ", "git add", "python3 -c", "tar xf"] {
        texts.push(format!("{program} {long}"));
        texts.push(format!("{program} '{long}' owned/a.txt"));
    }
    let faults: Vec<String> = texts.iter().filter_map(|text| work(text, &env).err()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A command that uses the budget up is never one that writes nothing, and keeps what was found before.
#[test]
fn what_is_cut_off_is_said_and_what_was_found_stays() {
    let env = environment();
    for endless in [
        "while :; do for a in * * * *; do x=$x$a; : $(echo $x$x | tr a b); done; done",
        "f() { f; f; }; f",
        &format!("echo {}a{}", "\"$(echo ".repeat(20), ")\"".repeat(20)),
        &format!("echo {}", "|a".repeat(20_000)),
    ] {
        let text = format!("touch owned/first.txt\n{endless}\ntouch owned/last.txt");
        let input = Input { command: Words::Script(&text), cwd: Path::new("/r"), env: &env, home: None };
        let reading = shell::read(&input, &Toy);
        let paths: Vec<String> = reading.acts.iter().map(|found| found.act.path.display().to_string()).collect();
        let both = paths.iter().any(|path| path == "/r/owned/last.txt");
        assert!(!reading.unknown.is_empty() || both, "{}: {paths:?}", endless.chars().take(80).collect::<String>());
        let parsed = !reading.unknown.iter().any(|unknown| unknown.why.contains("parse")) && !endless.contains("|a");
        assert!(!parsed || paths.iter().any(|path| path == "/r/owned/first.txt"), "{paths:?} {:?}", reading.unknown);
    }
}
