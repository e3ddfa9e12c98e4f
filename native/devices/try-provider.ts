import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { SpeechFigures } from "./speech-trial.js";
import type { Placed, ShapeFigures, TrialAnswer, TrialRequest } from "./trial.js";

export interface Trial {
  readonly shapes: readonly ShapeFigures[];
  readonly placed: readonly Placed[];
  readonly speech: readonly SpeechFigures[];
  readonly failures: readonly { readonly graph: string; readonly reason: string }[];
  /** Reason why the process ended early (a crash or a timeout); null if it did not. */
  readonly ended: string | null;
}

const PROGRAM = fileURLToPath(new URL("./trial-process.js", import.meta.url));
/** Length of the end of standard error to keep, where a crashing driver reports its reason. */
const KEPT_CHARACTERS = 600;

/** Tests a provider in a separate process, so that a crash does not end this one. */
export async function tryProvider(
  request: TrialRequest,
  { withinMs, onAnswer }: { readonly withinMs: number; readonly onAnswer?: (answer: TrialAnswer) => void },
): Promise<Trial> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ["pipe", "pipe", "pipe"] });
  const deadline = setTimeout(() => child.kill("SIGKILL"), withinMs);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-KEPT_CHARACTERS);
  });
  // A crashed process does not read; its exit is reported below.
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(request));
  const closed = new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("close", (code, signal) => resolve([code, signal]));
  });
  const shapes: ShapeFigures[] = [];
  const placed: Placed[] = [];
  const speech: SpeechFigures[] = [];
  const failures: { graph: string; reason: string }[] = [];
  for await (const line of linesOf(child.stdout)) {
    const answer = parsed(line);
    // Skip other output: drivers may print anything.
    if (answer === null) continue;
    if (answer.type === "shape") shapes.push(answer.figures);
    else if (answer.type === "placed") placed.push(answer.placed);
    else if (answer.type === "speech") speech.push(answer.figures);
    else failures.push({ graph: answer.graph, reason: answer.reason });
    onAnswer?.(answer);
  }
  const [code, signal] = await closed;
  clearTimeout(deadline);
  return { shapes, placed, speech, failures, ended: ending(code, signal, errors, withinMs) };
}

async function* linesOf(stream: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.setEncoding("utf8")) {
    const lines = (rest + String(text)).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

function parsed(line: string): TrialAnswer | null {
  try {
    const value = JSON.parse(line) as Partial<TrialAnswer> | null;
    return typeof value === "object" && value !== null && "type" in value ? (value as TrialAnswer) : null;
  } catch {
    return null;
  }
}

function ending(code: number | null, signal: NodeJS.Signals | null, errors: string, withinMs: number) {
  if (code === 0) return null;
  const last = errors.trim().split("\n").at(-1) ?? "";
  const how =
    signal === "SIGKILL" ? `did not finish within ${withinMs / 1_000} s` : `ended with ${signal ?? code}`;
  return last === "" ? how : `${how}: ${last}`;
}
