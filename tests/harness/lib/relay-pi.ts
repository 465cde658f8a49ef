// pi calls extensions inside its own process: this one hands each event to a command, as JSON on stdin. The rig puts it
// in place for `--gate` and `--record`; a real connection brings the shim that loci ships.
import { spawnSync } from "node:child_process";

const COMMANDS: Record<string, string> = __COMMANDS__; // event -> command line
const TIMEOUT_MS = __TIMEOUT_MS__;

function call(event: string, payload: unknown) {
  return spawnSync("/bin/sh", ["-c", COMMANDS[event]], {
    input: JSON.stringify(payload), encoding: "utf8", timeout: TIMEOUT_MS, killSignal: "SIGKILL",
  });
}

export default function (pi: any) {
  for (const event of Object.keys(COMMANDS)) {
    if (event === "tool_call") continue;
    pi.on(event, async (e: any, ctx: any) => {
      call(event, { hook_event_name: event, tool_name: e.toolName, cwd: ctx.cwd, mode: ctx.mode, hasUI: ctx.hasUI, raw_event: e });
    });
  }
  if (!("tool_call" in COMMANDS)) return;
  pi.on("tool_call", async (e: any, ctx: any) => {
    const done = call("tool_call", {
      hook_event_name: "PreToolUse", tool_name: e.toolName, tool_input: e.input, tool_use_id: e.toolCallId,
      session_id: ctx.sessionManager?.getSessionId?.(), cwd: ctx.cwd, raw_event: e,
    });
    // Reading is never refused, so a gate that is gone closes only what can write.
    if (done.error || (done.status !== 0 && done.status !== 2)) {
      if (["read", "grep", "find", "ls"].includes(e.toolName)) return;
      return { block: true, reason: "the gate did not answer: " + (done.error?.message ?? "exit " + done.status) };
    }
    if (done.status === 2) return { block: true, reason: done.stderr.trim() || "refused" };
  });
}
