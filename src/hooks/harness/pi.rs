//! pi: the event `tool_call`, handed to us by the shim that `loci connect pi` puts in place. The shim
//! reads the exit code and standard error; a note goes to standard error alone, for it to show.

use super::{Adapter, After, Answer, Call, Event, Relay, Unreadable, Verdict, Wiring, flat, flat_after, universal};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "pi",
    title: "pi",
    read,
    answer,
    after,
    wiring: Wiring {
        folder: ".pi/agent",
        moved_by: ("PI_CODING_AGENT_DIR", ""),
        file: "extensions/loci.ts",
        shared: ".pi/extensions/loci.ts",
        local: None,
        relay: Relay::File(shim),
        needs: &["pi loads extensions when it starts: start running sessions again."],
        needs_shared: &["An extension of a project runs only where you have approved the project in pi (`--approve`)."],
    },
};

/// The shim, with the program it calls written into its first lines.
fn shim(call: &Call) -> String {
    let program = match &call.program {
        None => "join(process.env.LOCI_HOME || homedir(), \".loci\", \"bin\", \"loci\")".to_owned(),
        Some(path) => serde_json::Value::from(path.as_str()).to_string(),
    };
    let guarded = if call.program.is_none() { "true" } else { "false" };
    include_str!("pi-shim.ts").replace("__PROGRAM__", &program).replace("__GUARDED__", guarded)
}

fn read(payload: &[u8]) -> Result<Event, Unreadable> {
    flat(payload, &["tool_call", "PreToolUse"])
}

fn after(payload: &[u8]) -> Result<After, Unreadable> {
    flat_after(payload, &["tool_result", "PostToolUse"])
}

fn answer(verdict: &Verdict) -> Answer {
    let mut answer = universal(verdict);
    if let Verdict::Note(_) = verdict {
        answer.stdout.clear();
    }
    answer
}
