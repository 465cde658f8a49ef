//! Holds the shape of the house: imports point down, `unsafe` and the upward walk have one home.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, from the floor to the roof.
const ROOMS: [&str; 9] = ["sys", "text", "tree", "loadout", "custody", "hooks", "body", "clock", "cli"];

/// Source text without its comments and its string literals.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                while chars.next().is_some_and(|c| c != '\n') {}
                out.push('\n');
            }
            '"' => {
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => _ = chars.next(),
                        '"' => break,
                        _ => {}
                    }
                }
                out.push_str("\"\"");
            }
            _ => out.push(c),
        }
    }
    out
}

/// The rooms that some code names behind `crate::` or `loci::`, groups included.
fn rooms_named(code: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let items = match rest.strip_prefix('{') {
            // The names at the first depth of a group.
            Some(group) => {
                let mut depth = 0_usize;
                let mut flat = String::new();
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        c if depth == 0 => flat.push(c),
                        _ => {}
                    }
                }
                flat
            }
            None => rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
        };
        for item in items.split(',') {
            let name: String = item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            found.extend(ROOMS.iter().filter(|room| **room == name));
        }
    }
    found
}

fn floor(room: &str) -> usize {
    ROOMS.iter().position(|one| *one == room).unwrap_or_else(|| panic!("give the room `{room}` a place in ROOMS"))
}

fn points_up(room: &str, text: &str) -> Vec<&'static str> {
    rooms_named(&code(text)).into_iter().filter(|other| floor(other) > floor(room)).collect()
}

/// Every source file below `src/ROOM/`, with its room.
fn sources() -> Vec<(String, PathBuf, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    walkdir::WalkDir::new(&src)
        .min_depth(2)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|ending| ending == "rs"))
        .map(|entry| {
            let rel = entry.path().strip_prefix(&src).unwrap().to_owned();
            let room = rel.iter().next().unwrap().to_str().unwrap().to_owned();
            (room, rel, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn imports_point_down() {
    let wrong: Vec<String> = sources()
        .iter()
        .flat_map(|(room, rel, text)| {
            points_up(room, text).into_iter().map(move |other| format!("src/{}: `{room}` must not use `{other}`", rel.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_floor_is_unsafe() {
    let wrong: Vec<String> = sources()
        .iter()
        .filter(|(room, _, text)| room != "sys" && code(text).contains("unsafe"))
        .map(|(_, rel, _)| rel.display().to_string())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether code walks upward by itself instead of asking `tree::climb`.
fn climbs(text: &str) -> bool {
    let code = code(text);
    // A loop that goes on with a parent: what it does stands close to its head.
    let loops = |(at, _): (usize, &str)| code[at..].chars().take(300).collect::<String>().contains(".parent()");
    code.contains(".ancestors()") || code.match_indices("while let Some(").any(loops)
}

#[test]
fn there_is_one_upward_walk() {
    let wrong: Vec<String> = sources()
        .iter()
        .filter(|(room, rel, text)| room != "sys" && rel != Path::new("tree/climb.rs") && climbs(text))
        .map(|(_, rel, _)| rel.display().to_string())
        .collect();
    assert!(wrong.is_empty(), "an upward walk outside tree/climb.rs: {}", wrong.join(", "));
}

/// Directories that have no place at the top of the repository.
fn stray<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let known = |name: &&str| ["src", "templates", "fixtures", "tests", "docs", "target"].contains(name);
    names.into_iter().filter(|name| !name.starts_with('.') && !known(name)).collect()
}

#[test]
fn the_top_holds_five_folders() {
    let folders: Vec<String> = fs::read_dir(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(stray(folders.iter().map(String::as_str)), [""; 0]);
}

#[test]
fn the_checks_can_see() {
    assert_eq!(stray(["src", ".ci", "runtimes", "target"]), ["runtimes"]);
    assert_eq!(rooms_named("use crate::custody::Verdict;"), ["custody"]);
    assert_eq!(rooms_named("use crate::{\n    custody::{judge, tree},\n    tree::Place,\n};"), ["custody", "tree"]);
    assert_eq!(points_up("tree", "use crate::{sys, cli::Cmd};"), ["cli"]);
    assert!(points_up("cli", "use crate::{sys, tree};").is_empty());
    assert!(points_up("sys", "// crate::cli\n/// [`crate::cli`]\nlet x = \"crate::cli\";").is_empty());
    assert!(climbs("for dir in path.ancestors() {}"));
    assert!(climbs("while let Some(dir) = next { next = dir.parent(); }"));
    assert!(!climbs("let parent = path.parent();"));
}
