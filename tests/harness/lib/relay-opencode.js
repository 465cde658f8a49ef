// OpenCode calls plugins inside its own process: this one hands each event to a command, as JSON on stdin, in the words of
// the shim that loci ships. The rig puts it in place for `--gate` and `--record`.
import { spawnSync } from "node:child_process";

const COMMANDS = __COMMANDS__; // event -> command line
const TIMEOUT_MS = __TIMEOUT_MS__;

export const Relay = async ({ directory }) => {
  const parents = new Map();
  const whose = (id) => (parents.has(id) ? { session_id: parents.get(id).parent, agent_id: id, agent_type: parents.get(id).kind } : { session_id: id });
  const call = (event, id, more) => spawnSync("/bin/sh", ["-c", COMMANDS[event] ?? "true"], {
    input: JSON.stringify({ hook_event_name: more.native ?? event, ...whose(id), cwd: directory, ...more, native: undefined }),
    encoding: "utf8", timeout: TIMEOUT_MS, killSignal: "SIGKILL",
  });
  const hooks = {
    "tool.execute.before": async (input, output) => {
      const done = call("tool.execute.before", input.sessionID, { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args });
      // Reading is never refused, so a gate that is gone closes only what can write.
      if (done.error || (done.status !== 0 && done.status !== 2)) {
        if (["read", "grep", "glob", "list"].includes(input.tool)) return;
        throw new Error("the gate did not answer: " + (done.error ? done.error.message : "exit " + done.status));
      }
      if (done.status === 2) throw new Error(done.stderr.trim() || "refused");
    },
    "tool.execute.after": async (input, output) => {
      const tool_response = { exit_code: output.metadata?.exit ?? 0, text: String(output.output ?? "") };
      call("tool.execute.after", input.sessionID, { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args, tool_response });
    },
    "chat.message": async (input, output) => {
      const prompt = output.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
      call("chat.message", input.sessionID, { prompt, agent: output.message?.agent });
    },
    "experimental.chat.system.transform": async (input) => {
      if (input.sessionID) call("experimental.chat.system.transform", input.sessionID, {});
    },
    "event": async ({ event }) => {
      const info = event.properties?.info;
      if (event.type === "session.created" && info?.parentID) parents.set(info.id, { parent: info.parentID, kind: typeof info.agent === "string" ? info.agent : undefined });
      else if (event.type === "session.created") call("event", info.id, { native: "session.created" });
      else if (event.type === "session.idle") call("event", event.properties.sessionID, { native: "session.idle" });
    },
  };
  return Object.fromEntries(Object.entries(hooks).filter(([name]) => name in COMMANDS));
};
