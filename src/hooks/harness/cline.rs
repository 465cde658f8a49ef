//! Cline. A hook is a program with the name of its event. No payload says where the agent stands: it is
//! started in the workspace. A denial that the model could read does not exist, and one that it knows
//! ends the whole run: instead the tool is called with an input that fails, and the reason is said beside the
//! result. The same input fails for each of its tools, so that it needs no knowledge of the call.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::wiring::{NO_ANSWER, quoted};
use super::{
    Adapter, Answer, Call, Event, Ours, Point, Relay, Reply, Rewriting, Seam, Take, Unreadable, Wiring, lenient, lines, point,
    spoken_at_top, take_text,
};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "cline",
    title: "Cline",
    points: POINTS,
    workdir: None,
    rewriting: Rewriting::USUAL,
    read,
    answer,
    wiring: Wiring {
        folder: ".cline",
        moved_by: ("CLINE_DIR", ""),
        file: "hooks/PreToolUse.sh",
        shared: Some(".clinerules/hooks/PreToolUse.sh"),
        local: None,
        relay: Relay::Files(files),
        needs: &["Cline reads its hooks when it starts: start running sessions again."],
        needs_shared: &[],
    },
};

/// Its events, by the names of the files. It reads an answer at calls of tools alone.
const POINTS: &[Point] = &[
    Point { native: "TaskStart", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "TaskResume", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "SessionShutdown", seam: Seam::AfterRun, takes: &[] },
    Point { native: "UserPromptSubmit", seam: Seam::BeforeIteration, takes: &[] },
    Point { native: "TaskComplete", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Context, Take::Input] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
];

/// What a payload calls the events.
const NAMES: &[(&str, &str)] = &[
    ("agent_start", "TaskStart"),
    ("agent_resume", "TaskResume"),
    ("session_shutdown", "SessionShutdown"),
    ("prompt_submit", "UserPromptSubmit"),
    ("agent_end", "TaskComplete"),
    ("tool_call", "PreToolUse"),
    ("tool_result", "PostToolUse"),
];

fn read(points: &'static [Point], seam: Seam, payload: &[u8]) -> Result<Event, Unreadable> {
    let mut object = lenient::object(payload)?;
    let said = take_text(&mut object, &["hookName"]);
    let native = said.as_deref().map(|said| NAMES.iter().find(|(name, _)| *name == said).map_or(said, |(_, native)| *native));
    let Some(found) = point(points, seam, native) else {
        return Err(Unreadable::OtherEvent(native.unwrap_or_else(|| seam.word()).to_owned()));
    };
    let about_a_tool = matches!(seam, Seam::BeforeTool | Seam::AfterTool);
    let mut call = ["tool_call", "tool_result"].iter().find_map(|key| match object.shift_remove(*key) {
        Some(Value::Object(call)) => Some(call),
        _ => None,
    });
    // The arguments stand there once more, each as text, beside a name of the tool that is the same.
    let beside = ["preToolUse", "postToolUse"].iter().find_map(|key| match object.get(*key) {
        Some(Value::Object(beside)) => Some(beside.clone()),
        _ => None,
    });
    let tool = call
        .as_mut()
        .and_then(|call| take_text(call, &["name"]))
        .or_else(|| beside.clone().and_then(|mut beside| take_text(&mut beside, &["toolName"])));
    if tool.is_none() && about_a_tool {
        return Err(Unreadable::Missing("tool name"));
    }
    let input = call
        .as_mut()
        .and_then(|call| call.shift_remove("input"))
        .or_else(|| beside.as_ref().and_then(|beside| beside.get("parameters").cloned()));
    let input = match input {
        // It runs a text as a command, whatever it looks like.
        Some(Value::String(text)) if tool.as_deref() == Some("run_commands") => {
            let object = lenient::unwrapped(Value::from(text.as_str()));
            if object.is_object() { json!([text, object]) } else { Value::String(text) }
        }
        Some(input) => lenient::unwrapped(input),
        None if about_a_tool => return Err(Unreadable::Missing("tool input")),
        None => Value::Null,
    };
    let response = call.as_mut().and_then(|call| call.shift_remove("output"));
    let error = call.as_ref().and_then(|call| call.get("error")).is_some_and(|error| !error.is_null());
    let failed = seam == Seam::AfterTool && (error || response.as_ref().is_some_and(says_failed));
    let session = match object.get("sessionContext") {
        Some(Value::Object(session)) => session.get("rootSessionId").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned),
        _ => None,
    };
    let session = session.or_else(|| take_text(&mut object, &["taskId"]));
    let root = object.get("workspaceRoots").and_then(Value::as_array).and_then(|roots| roots.first()).and_then(Value::as_str);
    let cwd = root.map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    let agent_id = take_text(&mut object, &["agent_id"]);
    let is_sub = object.get("parent_agent_id").and_then(Value::as_str).is_some_and(|parent| !parent.is_empty());
    let prompt = ["userPromptSubmit", "prompt_submit"].iter().find_map(|key| object.get(*key)?.get("prompt")?.as_str().map(str::to_owned));
    let lines = (seam == Seam::AfterTool).then(|| lines::of(&input, response.as_ref())).flatten();
    Ok(Event {
        seam,
        native: found.native.to_owned(),
        session,
        cwd,
        agent_id: agent_id.filter(|_| is_sub),
        agent_type: None,
        tool: tool.unwrap_or_default(),
        input,
        call: call.as_mut().and_then(|call| take_text(call, &["id"])),
        response,
        failed,
        lines,
        prompt,
        rest: object,
    })
}

/// Whether a result, or one of several, says that it failed.
fn says_failed(output: &Value) -> bool {
    match output {
        Value::Array(several) => several.iter().any(says_failed),
        one => one.get("success") == Some(&Value::Bool(false)),
    }
}

/// An input that fails for each of its tools: no such file can be, and the command says no.
fn failing() -> Value {
    let command = "echo 'Not done: refused by loci. The reason stands beside this result.' >&2; exit 1";
    let nowhere = "/dev/null/refused-by-loci";
    json!({ "commands": [command], "path": nowhere, "new_text": "", "input": "", "files": [{ "path": nowhere }] })
}

fn refusal(reason: &str) -> Value {
    json!({ "context": reason, "overrideInput": failing() })
}

fn answer(point: &Point, answer: &Answer) -> Reply {
    if let Some(reason) = answer.reason().filter(|_| point.seam == Seam::BeforeTool) {
        return Reply { stdout: format!("{}\n", refusal(&reason)), stderr: format!("{reason}\n"), code: 0 };
    }
    spoken_at_top(answer, "context", "overrideInput")
}

/// Tools that read: the relay lets them through where no gate answers.
const READS: &[&str] = &["read_files", "search_codebase", "search_files", "list_files", "fetch_web_content"];

/// The program at one of its events. Cline waits for a hook as long as it takes, so it bounds itself.
fn script(call: &Call, seam: Seam) -> String {
    let head = format!("#!/bin/sh\n{OURS}cline`; `loci disconnect cline` takes it away.\n");
    if seam != Seam::BeforeTool {
        return format!("{head}{}\n", call.hook(seam));
    }
    // The name stands before the arguments: what follows them is the model's to write.
    let reads: Vec<String> = READS.iter().map(|tool| format!("*'\"name\":\"{tool}\"'*")).collect();
    let guard = if call.program.is_none() { format!("{}\n", call.guard()) } else { String::new() };
    format!(
        "{head}{guard}p=$(cat)\n{}\n[ $r = 0 ] && exit 0\nh=${{p%%'\"input\"'*}}; h=${{h%%'\"parameters\"'*}}\ncase $h in {}) echo {} >&2; exit 0;; esac\necho {}\necho {} >&2\n",
        call.piped(),
        reads.join("|"),
        quoted("loci: custody was not checked for this call: the gate did not answer"),
        quoted(&refusal(NO_ANSWER).to_string()),
        quoted(NO_ANSWER),
    )
}

/// How the files begin, behind the line that names the shell.
const OURS: &str = "# Put here by `loci connect ";

/// The gate's first: it is the one that is looked for.
fn files(call: &Call) -> Vec<Ours> {
    let mut points: Vec<&Point> = POINTS.iter().filter(|point| call.at(point.seam)).collect();
    points.sort_by_key(|point| point.seam != Seam::BeforeTool);
    points.into_iter().map(|point| Ours { name: format!("{}.sh", point.native), text: script(call, point.seam), program: true }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_cline_is_refused_by_an_input_that_fails_for_every_tool() {
        let reply = ADAPTER.reply(Seam::BeforeTool, None, &Answer::block("It is bob's."));
        let said: Value = serde_json::from_str(&reply.stdout).unwrap();
        assert_eq!((said["context"].as_str(), reply.stderr.as_str(), reply.code), (Some("It is bob's."), "It is bob's.\n", 0));
        // It ends the whole run where it sees this one.
        assert!(said.get("cancel").is_none());
        let input = &said["overrideInput"];
        assert!(input["commands"][0].as_str().unwrap().ends_with("exit 1") && input["path"].as_str().unwrap().starts_with("/dev/null/"));
        let context = ADAPTER.reply(Seam::AfterTool, None, &Answer { context: "Read this.".to_owned(), ..Answer::default() });
        assert_eq!(context.stdout, "{\"context\":\"Read this.\"}\n");
    }
}
