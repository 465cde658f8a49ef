// OpenCode calls plugins inside its own process: this one hands each event to a command, as JSON on stdin. The rig puts
// it in place for `--gate` and `--record`; a real connection brings the shim that loci ships.
import { spawnSync } from "node:child_process";

const COMMANDS = __COMMANDS__; // event -> command line
const TIMEOUT_MS = __TIMEOUT_MS__;

function call(event, payload) {
  return spawnSync("/bin/sh", ["-c", COMMANDS[event]], {
    input: JSON.stringify(payload), encoding: "utf8", timeout: TIMEOUT_MS, killSignal: "SIGKILL",
  });
}

export const Relay = async ({ directory }) => {
  const hooks = {
    "tool.execute.before": async (input, output) => {
      const done = call("tool.execute.before", {
        hook_event_name: "PreToolUse", tool_name: input.tool, tool_input: output.args, session_id: input.sessionID,
        tool_use_id: input.callID, cwd: directory, raw_input: input, raw_output: output,
      });
      // Reading is never refused, so a gate that is gone closes only what can write.
      if (done.error || (done.status !== 0 && done.status !== 2)) {
        if (["read", "grep", "glob", "list"].includes(input.tool)) return;
        throw new Error("the gate did not answer: " + (done.error ? done.error.message : "exit " + done.status));
      }
      if (done.status === 2) throw new Error(done.stderr.trim() || "refused");
    },
    "tool.execute.after": async (input, output) => {
      call("tool.execute.after", { hook_event_name: "PostToolUse", tool_name: input.tool, raw_input: input, raw_output: output });
    },
    "chat.message": async (input, output) => {
      call("chat.message", { raw_input: input, raw_output: output });
    },
    "chat.params": async (input, output) => {
      const agent = input.agent && (input.agent.name || input.agent);
      call("chat.params", { keys_in: Object.keys(input), agent, sessionID: input.sessionID, raw_output: output });
    },
    "event": async ({ event }) => {
      if (event.type === "session.created" || event.type === "session.idle") call("event", { event });
    },
  };
  return Object.fromEntries(Object.entries(hooks).filter(([name]) => name in COMMANDS));
};
