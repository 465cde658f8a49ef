//! pi: its events, handed to us by the shim that `loci connect pi` puts in place. The shim
//! reads the exit code and standard error; a note goes to standard error alone, for it to show.

use super::{Adapter, Call, Ours, Point, Relay, Rewriting, Seam, Take, Wiring, flat, shim};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "pi",
    title: "pi",
    points: POINTS,
    workdir: None,
    rewriting: Rewriting { never_asks: |_| true, ..Rewriting::USUAL },
    read: flat,
    answer: shim::answer,
    wiring: Wiring {
        folder: ".pi/agent",
        moved_by: ("PI_CODING_AGENT_DIR", ""),
        file: "extensions/loci.ts",
        shared: Some(".pi/extensions/loci.ts"),
        local: None,
        relay: Relay::Files(files),
        needs: &["pi loads extensions when it starts: start running sessions again."],
        needs_shared: &[
            "pi reads this file only where it is started in this very directory, not in one below: connect each one that agents are started in, or the user's settings, which hold everywhere.",
            "An extension of a project runs only where you have approved the project in pi (`--approve`).",
        ],
    },
};

fn files(call: &Call) -> Vec<Ours> {
    vec![Ours { name: "loci.ts".to_owned(), text: shim::text(call, include_str!("pi-shim.js")), program: false }]
}

/// Its events, by the names that the shim gives them (`PreToolUse`, `PostToolUse`: as other shims do).
const POINTS: &[Point] = &[
    Point { native: "session_start", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "session_shutdown", seam: Seam::AfterRun, takes: &[] },
    Point { native: "before_agent_start", seam: Seam::BeforeIteration, takes: &[Take::Context] },
    Point { native: "agent_settled", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "tool_call", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "PreToolUse", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "tool_result", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "PostToolUse", seam: Seam::AfterTool, takes: &[Take::Context] },
];
