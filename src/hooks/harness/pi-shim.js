const READS = ["read", "grep", "find", "ls"];

export default function (pi) {
  const payload = (native, ctx, more) => ({
    hook_event_name: native, session_id: ctx.sessionManager?.getSessionId?.(), cwd: ctx.cwd, ...more,
  });
  const call = (event) => ({ tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input ?? {} });
  if (SEAMS.includes("before-tool")) {
    pi.on("tool_call", async (event, ctx) => {
      const { refused, input, say } = ask(payload("tool_call", ctx, call(event)), READS);
      if (refused) return { block: true, reason: refused };
      if (say) ctx.hasUI ? ctx.ui.notify(say, "warning") : console.error(say);
      if (input) Object.assign(event.input, input);
    });
  }
  if (SEAMS.includes("after-tool")) {
    // The trail: what came of it.
    pi.on("tool_result", async (event, ctx) => {
      const text = (event.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n");
      const response = { isError: event.isError === true, text: text.slice(0, 65536) };
      const { context } = tell("after-tool", payload("tool_result", ctx, { ...call(event), tool_response: response }));
      if (context) return { content: [...(event.content ?? []), { type: "text", text: context }] };
    });
  }
  if (SEAMS.includes("before-run")) {
    pi.on("session_start", async (event, ctx) => void tell("before-run", payload("session_start", ctx, { source: event.reason })));
  }
  if (SEAMS.includes("after-run")) {
    pi.on("session_shutdown", async (event, ctx) => void tell("after-run", payload("session_shutdown", ctx, { reason: event.reason })));
  }
  if (SEAMS.includes("before-iteration")) {
    pi.on("before_agent_start", async (event, ctx) => {
      const { context } = tell("before-iteration", payload("before_agent_start", ctx, { prompt: event.prompt }));
      if (context) return { message: { customType: "loci", content: context, display: false } };
    });
  }
  if (SEAMS.includes("after-iteration")) {
    pi.on("agent_settled", async (event, ctx) => void tell("after-iteration", payload("agent_settled", ctx, {})));
  }
}
