// Put here by `loci connect __NAME__`; `loci disconnect __NAME__` takes it away. Asks before each tool call whose the path is.
// Where the gate can't answer, a call is blocked, unless it is one of the tools that read.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const PROGRAM = __PROGRAM__;
const GUARDED = __GUARDED__; // part of a project: loci may not be installed here
const SEAMS = __SEAMS__; // those that `loci hook` is told of

/** What the program printed, if it is one JSON object. */
function object(text) {
  try {
    const said = JSON.parse(text || "{}");
    return said && typeof said === "object" ? said : {};
  } catch {
    return {};
  }
}

/** Asks the gate about a call. `refused` is the reason of a denial, `input` what to call the tool with instead, `say` a line for the user. */
function ask(payload, reads) {
  if (GUARDED && !existsSync(PROGRAM)) return {};
  const gate = spawnSync(PROGRAM, ["gate", "--for", "__NAME__"], {
    input: JSON.stringify(payload), encoding: "utf8", timeout: 30000, killSignal: "SIGKILL", maxBuffer: 1 << 24,
  });
  // A pass says nothing, unless something was not checked.
  if (gate.status === 0) return { input: object(gate.stdout).input, say: gate.stderr.trim() };
  if (gate.status === 2) return { refused: gate.stderr.trim() || "Refused by loci." };
  const why = `the loci gate did not answer (${gate.error?.message ?? gate.signal ?? `exit ${gate.status}`})`;
  if (!reads.includes(payload.tool_name)) {
    return { refused: `loci: ${why}, and this tool can write: the call was not made. Go on with what needs no writing, and tell your user to run \`loci connect --check\`.` };
  }
  return { say: `loci: custody was not checked: ${why}` };
}

/** Tells what happened at another seam. Nothing depends on the answer: `context` is text for the model. */
function tell(seam, payload) {
  if (!SEAMS.includes(seam) || !existsSync(PROGRAM)) return {};
  const hook = spawnSync(PROGRAM, ["hook", seam, "--for", "__NAME__"], {
    input: JSON.stringify(payload), encoding: "utf8", timeout: __PATIENCE__, killSignal: "SIGKILL", maxBuffer: 1 << 24,
  });
  return hook.status === 0 && __SPEAKS__ ? object(hook.stdout) : {};
}

