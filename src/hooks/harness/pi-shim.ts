// Put here by `loci connect pi`; `loci disconnect pi` takes it away. Asks the gate before each tool call whose the path is.
// Where the gate can't answer, calls that write are blocked for owned directories, and for nothing else.
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

const PROGRAM: string = __PROGRAM__;
const GUARDED = __GUARDED__; // part of a project: loci may not be installed here
const READS = ["read", "grep", "find", "ls"];

/** The directory that an owner file makes somebody's, for a path that may not exist yet. */
function owned(path: string): string | undefined {
  let dir = path;
  for (;;) {
    try {
      dir = realpathSync(dir);
      break;
    } catch {
      if (dirname(dir) === dir) return undefined;
      dir = dirname(dir);
    }
  }
  for (;;) {
    if (existsSync(join(dir, ".loci", "owner.md"))) return dir;
    if (dirname(dir) === dir) return undefined;
    dir = dirname(dir);
  }
}

/** The owned directory that a call could reach: each word of a command is taken for a path. */
function reaches(input: any, cwd: string): string | undefined {
  const texts = [input?.path, input?.file_path, input?.filePath].filter((text) => typeof text === "string");
  const words = typeof input?.command === "string" ? input.command.split(/[\s"'`;|&<>()=]+/).filter(Boolean) : [];
  if (words.length > 0) words.push(".");
  for (const text of [...texts, ...words]) {
    const path = text === "~" || text.startsWith("~/") ? join(homedir(), text.slice(1)) : text;
    const dir = owned(isAbsolute(path) ? path : resolve(cwd, path));
    if (dir) return dir;
  }
  return undefined;
}

export default function (pi: any) {
  pi.on("tool_call", async (event: any, ctx: any) => {
    if (GUARDED && !existsSync(PROGRAM)) return;
    const payload = {
      hook_event_name: "tool_call", tool_name: event.toolName, tool_use_id: event.toolCallId,
      session_id: ctx.sessionManager?.getSessionId?.(), cwd: ctx.cwd, tool_input: event.input ?? {},
    };
    const gate = spawnSync(PROGRAM, ["gate", "--for", "pi"], {
      input: JSON.stringify(payload), encoding: "utf8", timeout: 10000, killSignal: "SIGKILL",
    });
    if (gate.status === 0) {
      // A pass says nothing, unless something was not checked.
      if (gate.stderr) ctx.hasUI ? ctx.ui.notify(gate.stderr.trim(), "warning") : console.error(gate.stderr.trim());
      return;
    }
    if (gate.status === 2) return { block: true, reason: gate.stderr.trim() || "Refused by loci." };
    const why = `the loci gate did not answer (${gate.error?.message ?? gate.signal ?? `exit ${gate.status}`})`;
    const dir = READS.includes(event.toolName) ? undefined : reaches(event.input, ctx.cwd);
    if (dir) return { block: true, reason: `${dir} belongs to somebody, and ${why}. Tell the user: loci connect --check` };
    console.error(`loci: custody was not checked: ${why}`);
  });
  // The trail: what came of it. Nothing waits for it but its end, and nothing depends on it.
  pi.on("tool_result", async (event: any, ctx: any) => {
    if (!existsSync(PROGRAM)) return;
    const payload = {
      hook_event_name: "tool_result", tool_name: event.toolName, tool_use_id: event.toolCallId,
      session_id: ctx.sessionManager?.getSessionId?.(), cwd: ctx.cwd, tool_input: event.input ?? {},
      tool_response: { isError: event.isError === true },
    };
    spawnSync(PROGRAM, ["hook", "after-tool", "--for", "pi"], {
      input: JSON.stringify(payload), stdio: ["pipe", "ignore", "ignore"], timeout: 5000, killSignal: "SIGKILL",
    });
  });
}
