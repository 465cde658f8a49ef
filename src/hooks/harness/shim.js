// Put here by `loci connect __NAME__`; `loci disconnect __NAME__` takes it away. Asks before each tool call whose the path is.
// Where the gate can't answer, calls that write are blocked for owned directories, and for nothing else.
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

const PROGRAM = __PROGRAM__;
const GUARDED = __GUARDED__; // part of a project: loci may not be installed here
const SEAMS = __SEAMS__; // those that `loci hook` is told of
const WORDS = 4096; // the most of a command that is looked through where the gate is gone

/** The directory that an owner file makes somebody's, for a path that may not exist yet. */
function owned(path) {
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

/** The owned directory that a call could reach: each word of a command or a patch is taken for a path. */
function reaches(input, cwd) {
  const text = (key) => (typeof input?.[key] === "string" ? input[key] : "");
  const base = text("workdir") ? resolve(cwd, text("workdir")) : cwd;
  const paths = ["path", "file_path", "filePath"].map(text).filter(Boolean);
  const words = ["command", "patchText", "patch", "input"].flatMap((key) => text(key).split(/[\s"'`;|&<>()=]+/, WORDS)).filter(Boolean);
  if (words.length > 0) words.push(".");
  for (const word of [...paths, ...words]) {
    const path = word === "~" || word.startsWith("~/") ? join(homedir(), word.slice(1)) : word;
    const dir = owned(isAbsolute(path) ? path : resolve(base, path));
    if (dir) return dir;
  }
  return undefined;
}

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
  const dir = reads.includes(payload.tool_name) ? undefined : reaches(payload.tool_input, payload.cwd);
  if (dir) return { refused: `${dir} belongs to somebody, and ${why}. Tell the user: loci connect --check` };
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

