//! Running one hook script, and reading its answer. Every failure is one line, and the turn goes on.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::answer::MOST_CHARACTERS;
use super::event::Seam;
use super::find::Hook;
use crate::sys::disk;
use crate::sys::env::LOCI_HOOK;
use crate::sys::program::{Finished, Program};

/// The most bytes of each output that are read.
const KEEP: usize = 1 << 20;
/// The most words of a line that names an interpreter.
const MAX_WORDS: usize = 8;

/// What runs a file by the ending of its name, where the file says nothing by itself.
const BY_ENDING: &[(&str, &[&str])] = &[
    ("sh", &["sh"]),
    ("bash", &["bash"]),
    ("zsh", &["zsh"]),
    ("fish", &["fish"]),
    ("py", &["python3"]),
    ("js", &["node"]),
    ("mjs", &["node"]),
    ("cjs", &["node"]),
    ("ts", &["node"]),
    ("pl", &["perl"]),
    ("rb", &["ruby"]),
    ("lua", &["lua"]),
    ("php", &["php"]),
    ("awk", &["awk", "-f"]),
    ("tcl", &["tclsh"]),
];

/// What a hook has answered; empty where it had nothing to say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// What is about to happen is not to.
    pub block: Option<String>,
    /// For the model.
    pub context: String,
    /// For the user.
    pub message: Option<String>,
    /// What the tool is to be called with instead.
    pub input: Option<Value>,
    /// To be merged into the state.
    pub state: Map<String, Value>,
    /// To be merged into the data of the event.
    pub data: Map<String, Value>,
    /// What could not be used of it, for people.
    pub remarks: Vec<String>,
}

/// How a file is run: by itself where it can be, else by its first line, else by its ending.
#[must_use]
pub fn command(path: &Path, executable: bool, bytes: &[u8]) -> Option<(PathBuf, Vec<OsString>)> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shebang = first.strip_prefix(b"#!");
    let binary =
        bytes.starts_with(b"\x7fELF") || bytes.starts_with(&[0xcf, 0xfa, 0xed, 0xfe]) || bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe]);
    if executable && (shebang.is_some() || binary) {
        return Some((path.to_owned(), Vec::new()));
    }
    let words: Vec<OsString> = match shebang {
        Some(line) => {
            let words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).take(MAX_WORDS);
            words.map(|word| OsString::from_vec(word.to_vec())).collect()
        }
        None => {
            let ending = path.extension()?.to_str()?.to_lowercase();
            BY_ENDING.iter().find(|(one, _)| *one == ending)?.1.iter().map(OsString::from).collect()
        }
    };
    let (program, args) = words.split_first()?;
    let mut args = args.to_vec();
    args.push(path.as_os_str().to_owned());
    Some((PathBuf::from(program), args))
}

/// Runs a hook with one JSON object on its standard input. One that is trusted by its content runs from a copy
/// of what was looked at, in the state folder.
///
/// # Errors
/// Whatever kept it from answering, in a few words.
pub fn run(
    hook: &Hook,
    seam: Seam,
    input: &[u8],
    cwd: &Path,
    env: &BTreeMap<OsString, OsString>,
    limit: Duration,
    state: &Path,
) -> Result<Said, String> {
    let path = match (&hook.folder, hook.found.path.file_name()) {
        (Some(folder), Some(name)) => folder.placed(state).map_err(|error| format!("failed to {error}"))?.join(name),
        _ => hook.found.path.clone(),
    };
    let path = path.as_path();
    let mut env = env.clone();
    env.insert(LOCI_HOOK.into(), hook.found.path.clone().into());
    let meta = disk::look_through(path).map_err(|error| format!("failed to {error}"))?.ok_or("it is gone")?;
    let (file, args) = command(path, meta.mode & 0o111 != 0, &hook.found.bytes)
        .ok_or("nothing says how to run it: make it executable, or give it a first line that begins with #!")?;
    let program = Program { file: &file, args, cwd, env, stdin: input, limit, keep: KEEP };
    let finished = program.run().map_err(|error| format!("failed to start {}: {error}", crate::sys::shown::path(&file)))?;
    read(&finished, seam, limit)
}

/// Reads what a hook has answered.
///
/// # Errors
/// Where that is no answer.
pub fn read(finished: &Finished, seam: Seam, limit: Duration) -> Result<Said, String> {
    if finished.timed_out {
        return Err(format!("it took longer than {} s", limit.as_secs_f64()));
    }
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let stderr = String::from_utf8_lossy(&finished.stderr);
    let stdout = stdout.trim_start_matches('\u{feff}').trim();
    let first = || stderr.lines().next().map(|line| format!(": {}", crate::sys::shown::text(line))).unwrap_or_default();
    match finished.code {
        Some(0) if stdout.is_empty() => Ok(Said::default()),
        Some(0) => match serde_json::from_str::<Value>(stdout) {
            Ok(Value::Object(object)) => Ok(said(&object)),
            // Where a session or a prompt begins, Claude Code takes plain words for context.
            _ if matches!(seam, Seam::BeforeRun | Seam::BeforeIteration | Seam::BeforeSystemPrompt) && !stdout.starts_with(['{', '[']) => {
                let mut said = Said::default();
                take_context(&mut said, stdout);
                Ok(said)
            }
            _ => Err("its output is not one JSON object".to_owned()),
        },
        Some(2) => {
            let mut said = match serde_json::from_str::<Value>(stdout) {
                Ok(Value::Object(object)) => said(&object),
                _ => Said::default(),
            };
            let reason = stderr.trim();
            let reason = if reason.is_empty() { said.block.take().unwrap_or_default() } else { reason.to_owned() };
            said.block = Some(reason);
            Ok(said)
        }
        Some(code) => Err(format!("it ended with exit code {code}{}", first())),
        None => Err(format!("a signal ended it{}", first())),
    }
}

fn take_context(said: &mut Said, text: &str) {
    if text.chars().count() > MOST_CHARACTERS {
        said.remarks.push(format!("its context is longer than {MOST_CHARACTERS} characters, and was left out whole"));
    } else {
        text.clone_into(&mut said.context);
    }
}

/// Text that a terminal shows and doesn't obey: its lines stay.
fn lines(text: &str) -> String {
    text.split('\n').map(|line| crate::sys::shown::text(line).to_string()).collect::<Vec<_>>().join("\n")
}

/// The answer in an object: at the top, or under `hookSpecificOutput`.
fn said(object: &Map<String, Value>) -> Said {
    let mut said = Said::default();
    let inner = object.get("hookSpecificOutput").and_then(Value::as_object);
    let both = |key: &str| object.get(key).or_else(|| inner.and_then(|inner| inner.get(key)));
    let text = |key: &str| both(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let decisions = [text("decision"), text("permissionDecision"), text("action")];
    let stops = object.get("continue") == Some(&Value::Bool(false));
    let blocks = decisions.iter().flatten().any(|word| ["block", "deny", "cancel"].iter().any(|one| word.eq_ignore_ascii_case(one)));
    if blocks || stops {
        let reason = text("reason").or_else(|| text("permissionDecisionReason")).or_else(|| text("stopReason")).or_else(|| text("message"));
        said.block = Some(lines(reason.unwrap_or_default()));
    } else if let Some(word) =
        decisions.iter().flatten().find(|word| !["approve", "allow"].iter().any(|one| word.eq_ignore_ascii_case(one)))
    {
        said.remarks.push(format!("its decision `{}` is none that is known here", crate::sys::shown::text(word)));
    }
    if let Some(context) = text("additionalContext") {
        take_context(&mut said, context);
    }
    said.message = text("systemMessage").map(|text| lines(&text.chars().take(MOST_CHARACTERS).collect::<String>()));
    for (key, fits) in [
        ("decision", Value::is_string as fn(&Value) -> bool),
        ("permissionDecision", Value::is_string),
        ("action", Value::is_string),
        ("continue", Value::is_boolean),
        ("additionalContext", Value::is_string),
        ("systemMessage", Value::is_string),
        ("updatedInput", Value::is_object),
        ("state", Value::is_object),
        ("data", Value::is_object),
    ] {
        if both(key).is_some_and(|value| !value.is_null() && !fits(value)) {
            said.remarks.push(format!("its `{key}` is of a kind that means nothing here, and was passed over"));
        }
    }
    said.input = ["updatedInput", "tool_input", "modifiedArgs"].iter().find_map(|key| both(key)).filter(|input| input.is_object()).cloned();
    let map = |key: &str| both(key).and_then(Value::as_object).cloned();
    said.state = map("state").unwrap_or_default();
    said.data = map("data").unwrap_or_default();
    said
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn done(code: Option<i32>, stdout: &str, stderr: &str) -> Finished {
        Finished { code, stdout: stdout.into(), stderr: stderr.into(), timed_out: false }
    }

    fn answered(code: i32, stdout: &str, stderr: &str) -> Result<Said, String> {
        read(&done(Some(code), stdout, stderr), Seam::BeforeTool, Duration::from_secs(10))
    }

    #[test]
    fn what_means_nothing_is_named_and_no_terminal_is_led() {
        let said = answered(0, r#"{"decision":["block"],"updatedInput":"x","systemMessage":"\u001b[2Ja\nb"}"#, "").unwrap();
        assert!(said.block.is_none() && said.input.is_none() && said.remarks.len() == 2, "{:?}", said.remarks);
        assert_eq!(said.message.as_deref(), Some("\\u{1b}[2Ja\nb"));
        let blocked = answered(0, r#"{"decision":"block","reason":"no\u0007\nnext"}"#, "").unwrap();
        assert_eq!(blocked.block.as_deref(), Some("no\\u{7}\nnext"));
        assert!(answered(0, r#"{"decision":null,"systemMessage":"m"}"#, "").unwrap().remarks.is_empty());
    }

    #[test]
    fn a_block_has_many_spellings() {
        for stdout in [
            r#"{"decision":"block","reason":"no"}"#,
            r#"{"decision":"DENY","reason":"no"}"#,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#,
            r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#,
            r#"{"continue":false,"stopReason":"no"}"#,
            "\u{feff} {\"action\":\"block\",\"message\":\"no\"}\n",
        ] {
            assert_eq!(answered(0, stdout, "").unwrap().block.as_deref(), Some("no"), "{stdout}");
        }
        assert_eq!(answered(2, "", "no\n").unwrap().block.as_deref(), Some("no"));
        assert_eq!(answered(2, r#"{"decision":"block","reason":"no"}"#, "").unwrap().block.as_deref(), Some("no"));
        assert_eq!(answered(2, "", "").unwrap().block.as_deref(), Some(""));
        for stdout in
            ["", "{}", r#"{"decision":"approve"}"#, r#"{"hookSpecificOutput":{"permissionDecision":"allow"}}"#, r#"{"continue":true}"#]
        {
            assert_eq!(answered(0, stdout, "words").unwrap().block, None, "{stdout}");
        }
        assert_eq!(answered(0, r#"{"decision":"ask"}"#, "").unwrap().remarks.len(), 1);
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
        for (code, stdout) in [(Some(0), "words"), (Some(0), "[1]"), (Some(0), "{\"a\":"), (Some(1), "{}"), (Some(127), ""), (None, "{}")] {
            assert!(read(&done(code, stdout, "why\nmore"), Seam::AfterTool, Duration::from_secs(1)).is_err(), "{code:?} {stdout}");
        }
        let slow = Finished { timed_out: true, ..done(None, r#"{"decision":"block"}"#, "") };
        assert_eq!(read(&slow, Seam::BeforeTool, Duration::from_secs(3)), Err("it took longer than 3 s".to_owned()));
    }

    #[test]
    fn context_stands_at_the_top_or_below_and_is_bounded() {
        for stdout in [r#"{"additionalContext":"x"}"#, r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"x"}}"#]
        {
            assert_eq!(answered(0, stdout, "").unwrap().context, "x");
        }
        let long = answered(0, &format!(r#"{{"additionalContext":"{}"}}"#, "x".repeat(10_001)), "").unwrap();
        assert!(long.context.is_empty() && long.remarks.len() == 1);
        let plain = read(&done(Some(0), "be kind\n", ""), Seam::BeforeIteration, Duration::from_secs(1)).unwrap();
        assert_eq!(plain.context, "be kind");
        let said = answered(0, r#"{"state":{"n":1},"data":{"d":2},"systemMessage":"m","hookSpecificOutput":{"updatedInput":{"a":1}}}"#, "")
            .unwrap();
        assert_eq!((said.state["n"].as_i64(), said.data["d"].as_i64(), said.message.as_deref()), (Some(1), Some(2), Some("m")));
        assert_eq!(said.input, Some(serde_json::json!({ "a": 1 })));
    }

    #[test]
    fn a_file_is_run_by_itself_by_its_first_line_or_by_its_ending() {
        let own = |file: &str, executable: bool, bytes: &[u8]| {
            let (program, args) = command(Path::new(file), executable, bytes)?;
            Some(
                [vec![program.into_os_string()], args]
                    .concat()
                    .iter()
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        assert_eq!(own("/h/a", true, b"#!/bin/sh\n").as_deref(), Some("/h/a"));
        assert_eq!(own("/h/a.py", false, b"#!/usr/bin/env -S python3 -u\r\n").as_deref(), Some("/usr/bin/env -S python3 -u /h/a.py"));
        assert_eq!(own("/h/a.RB", true, b"# hook").as_deref(), Some("ruby /h/a.RB"));
        assert_eq!(own("/h/a.awk", false, b"").as_deref(), Some("awk -f /h/a.awk"));
        assert_eq!(own("/h/a", false, b"x"), None);
        assert_eq!(own("/h/a.xyz", false, b"#!  \n"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_output(code in proptest::option::of(0..4), stdout in ".{0,80}", stderr in ".{0,20}") {
            let _ = read(&done(code, &stdout, &stderr), Seam::BeforeRun, Duration::from_secs(1));
        }
    }
}
