//! OpenCode: its events, handed to us by the shim that `loci connect opencode` puts in place as a plugin.
//! A sub-agent has a session of its own; the shim names the session that it belongs to, and the
//! sub-agent beside it. Some models get `apply_patch`, with the whole patch in `patchText`.

use super::{Adapter, Call, Ours, Point, Relay, Rewriting, Seam, Take, Wiring, flat, shim};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "opencode",
    title: "OpenCode",
    points: POINTS,
    workdir: Some("workdir"),
    rewriting: Rewriting::USUAL,
    read: flat,
    answer: shim::answer,
    wiring: Wiring {
        folder: ".config/opencode",
        moved_by: ("XDG_CONFIG_HOME", "opencode"),
        file: "plugin/loci.js",
        shared: Some(".opencode/plugin/loci.js"),
        local: None,
        relay: Relay::Files(files),
        needs: &["OpenCode loads plugins when it starts: start running sessions again. `opencode --pure` leaves them out."],
        needs_shared: &[],
    },
};

fn files(call: &Call) -> Vec<Ours> {
    vec![Ours { name: "loci.js".to_owned(), text: shim::text(call, include_str!("opencode-shim.js")), program: false }]
}

/// Its events. It has none for the end of a session.
const POINTS: &[Point] = &[
    Point { native: "session.created", seam: Seam::BeforeRun, takes: &[] },
    Point { native: "chat.message", seam: Seam::BeforeIteration, takes: &[] },
    Point { native: "session.idle", seam: Seam::AfterIteration, takes: &[] },
    Point { native: "tool.execute.before", seam: Seam::BeforeTool, takes: &[Take::Block, Take::Input] },
    Point { native: "tool.execute.after", seam: Seam::AfterTool, takes: &[Take::Context] },
    Point { native: "experimental.chat.system.transform", seam: Seam::BeforeSystemPrompt, takes: &[Take::Context] },
];
