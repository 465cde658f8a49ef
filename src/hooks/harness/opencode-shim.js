const READS = ["read", "grep", "glob", "list", "lsp", "codesearch", "webfetch", "websearch", "todoread", "todowrite", "skill", "question"];

export const Loci = async ({ directory }) => {
  // A sub-agent has a session of its own, and says whose it is when it begins.
  const parents = new Map();
  const whose = (id) => {
    let root = id;
    for (let steps = 0; parents.has(root) && steps < 64; steps += 1) root = parents.get(root).parent;
    return root === id ? { session_id: id } : { session_id: root, agent_id: id, agent_type: parents.get(id).kind };
  };
  const payload = (native, id, more) => ({ hook_event_name: native, ...whose(id), cwd: directory, ...more });
  const hooks = {
    event: async ({ event }) => {
      const info = event.properties?.info;
      if (event.type === "session.created" && info?.parentID) {
        parents.set(info.id, { parent: info.parentID, kind: typeof info.agent === "string" ? info.agent : undefined });
      } else if (event.type === "session.created" && info?.id) {
        tell("before-run", payload("session.created", info.id, {}));
      } else if (event.type === "session.idle" && event.properties?.sessionID) {
        tell("after-iteration", payload("session.idle", event.properties.sessionID, {}));
      }
    },
  };
  if (SEAMS.includes("before-tool")) {
    hooks["tool.execute.before"] = async (input, output) => {
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args ?? {} };
      const answer = ask(payload("tool.execute.before", input.sessionID, call), READS);
      if (answer.refused) throw new Error(answer.refused);
      if (answer.say) console.error(answer.say);
      if (answer.input) Object.assign(output.args, answer.input);
    };
  }
  if (SEAMS.includes("after-tool")) {
    hooks["tool.execute.after"] = async (input, output) => {
      const response = { exit_code: output.metadata?.exit ?? 0, text: String(output.output ?? "").slice(0, 65536) };
      const call = { tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args ?? {}, tool_response: response };
      const { context } = tell("after-tool", payload("tool.execute.after", input.sessionID, call));
      if (context) output.output = `${output.output ?? ""}\n${context}`;
    };
  }
  if (SEAMS.includes("before-iteration")) {
    hooks["chat.message"] = async (input, output) => {
      const prompt = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
      tell("before-iteration", payload("chat.message", input.sessionID, { prompt, agent: output.message?.agent }));
    };
  }
  if (SEAMS.includes("before-system-prompt")) {
    hooks["experimental.chat.system.transform"] = async (input, output) => {
      if (!input.sessionID) return;
      const { context } = tell("before-system-prompt", payload("experimental.chat.system.transform", input.sessionID, {}));
      if (context) output.system.push(context);
    };
  }
  return hooks;
};
