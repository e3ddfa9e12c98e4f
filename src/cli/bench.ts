import { readFile } from "node:fs/promises";
import { clipsOf, includedClips } from "./bench/clips.js";
import { compared, type Difference } from "./bench/compare.js";
import type { Progress } from "./bench/level.js";
import { WIRES, type WireName } from "./bench/live-wires.js";
import { resultPage } from "./bench/page.js";
import { type BenchResult, parseResult, SCENARIOS, type Scenario } from "./bench/result.js";
import { type BenchPlan, emptyProgress, estimatedCredits, runBench } from "./bench/run.js";
import { differenceLine, endLines, levelLines, loadName, shown } from "./bench/summary.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  printLine,
  printNote,
  printRemark,
  UsageError,
  wholeNumber,
} from "./command.js";
import { interruptible } from "./interruption.js";
import { clock, withProgress } from "./progress.js";
import { ResultFile } from "./result-file.js";
import { connectionOf, QUIET_OPTION, SERVICE_OPTIONS } from "./service-client.js";

const MOST_SESSIONS = 10_000;
const MOST_PER_SECOND = 1_000;
const MOST_MINUTES = 24 * 60;
const DEFAULT_MINUTES = 1;
const DEFAULT_LOAD: Readonly<Record<Scenario, number>> = { live: 8, speech: 1, files: 1, requests: 10 };

export const benchCommand: Command = {
  usage: "bench [URL]",
  summary: "Measure the latency and capacity of a speech service",
  description:
    "Load a service as its users do, on a schedule that does not wait for responses, and report delays with confidence intervals. URL may also be a saved result, to compare it or draw it again.",
  options: {
    ...SERVICE_OPTIONS,
    ...QUIET_OPTION,
    scenario: { type: "string" },
    wire: { type: "string" },
    sessions: { type: "string" },
    rate: { type: "string" },
    minutes: { type: "string" },
    ramp: { type: "boolean" },
    even: { type: "boolean" },
    budget: { type: "string" },
    clips: { type: "string" },
    language: { type: "string" },
    model: { type: "string" },
    voice: { type: "string" },
    "eou-ms": { type: "string" },
    output: { type: "string", short: "o" },
    compare: { type: "string" },
  },
  optionHelp: [
    ["--scenario KIND", "live (default), speech, files or requests"],
    ["--wire WIRE", "Protocol of the service: dauys (default), openai or deepgram"],
    ["--sessions N", `Live sessions at the same time (default: ${DEFAULT_LOAD.live})`],
    ["--rate R", "Requests per second of the other scenarios (default: 1; requests: 10)"],
    ["--minutes M", `Duration of each load (default: ${DEFAULT_MINUTES})`],
    ["--ramp", "Double the load up to that number, and find the knee"],
    ["--even", "Send requests at even intervals (default: a Poisson process)"],
    ["--budget CREDITS", "Spend no more than this"],
    ["--clips FOLDER", "Your recordings: a.wav, and its text in a.txt"],
    ["--language kk|ru", "Only the included clips of this language"],
    ["--model MODEL", "Model of the service (default: the service's default)"],
    ["--voice VOICE", "Voice of the service, for speech"],
    ["--eou-ms MS", "Silence that ends an utterance (default: 200)"],
    ["-o, --output NAME", "Write NAME.json and NAME.html"],
    ["--compare FILE.json", "Compare with a saved result"],
    ["--json", "Print the result as JSON"],
  ],
  note: "The requests are charged like any others. Ctrl-C ends the run and keeps its results.",
  examples: [
    "bench http://127.0.0.1:8080 --sessions 32 -o before",
    "bench --sessions 32 --compare before.json -o after",
    "bench --scenario speech --rate 8 --ramp",
    "bench https://api.deepgram.com --wire deepgram --sessions 4 --clips calls",
  ],
  run: bench,
};

async function bench(input: CommandInput): Promise<void> {
  const { options, positionals } = input;
  if (positionals.length > 1) throw new UsageError(`expected one URL, received ${positionals.length}`);
  const given = positionals[0] ?? null;
  const baseline = await readResult(options.text("compare"));
  if (given?.endsWith(".json") === true) {
    const result = (await readResult(given))!;
    return await report(input, result, baseline, await outputsOf(options.text("output")));
  }
  const plan = await planOf(input, given);
  const outputs = await outputsOf(options.text("output"));
  await interruptible(async (signal) => {
    const result = await measured(input, plan, signal).catch(async (error: unknown) => {
      await outputs.abandon();
      throw error;
    });
    await report(input, result, baseline, outputs);
    signal.throwIfAborted();
    if (result.levels.every(({ started, failed }) => started === failed))
      throw new CommandError("every session or request failed; the reasons are above");
  });
}

async function measured(input: CommandInput, plan: BenchPlan, signal: AbortSignal): Promise<BenchResult> {
  const estimate = estimatedCredits(plan);
  const limit = plan.budget === null ? "" : `, at most ${plan.budget}`;
  printRemark(input, `${plan.scenario} over the ${plan.wire} protocol: about ${estimate} credits${limit}`);
  const progress = emptyProgress();
  return await withProgress(
    input,
    () => statusParts(plan.scenario, progress),
    () =>
      runBench(plan, {
        ...{ signal, progress },
        onLevel: (level) => {
          if (input.options.isSet("json")) return;
          for (const line of levelLines(plan.scenario, level)) printLine(line);
        },
      }),
  );
}

function statusParts(scenario: Scenario, { load, endsAtMs, active, failed, last }: Progress): string[] {
  const left = clock(Math.max(0, endsAtMs - performance.now()));
  const parts = [loadName(scenario, load), `${left} left`, `${active} open`, `${failed} failed`];
  return last === null ? parts : [...parts, `last ${shown(last, "ms")}`];
}

async function report(
  input: CommandInput,
  result: BenchResult,
  baseline: BenchResult | null,
  outputs: Outputs,
): Promise<void> {
  let differences: readonly Difference[];
  try {
    differences = baseline === null ? [] : compared(baseline, result);
  } catch (error) {
    // The measured result must be written even if the comparison fails.
    printNote(`dauys: ${error instanceof Error ? error.message : String(error)}`);
    differences = [];
  }
  await outputs.write(result, resultPage(result, baseline, differences));
  if (input.options.isSet("json")) return printLine(JSON.stringify({ ...result, differences }));
  for (const line of [...endLines(result), ...differences.map(differenceLine)]) printLine(line);
  for (const name of outputs.names) printRemark(input, `${name} written`);
}

interface Outputs {
  readonly names: readonly string[];
  write(result: BenchResult, page: string): Promise<void>;
  abandon(): Promise<void>;
}

/** Opens both files before any credits are spent. */
async function outputsOf(name: string | null): Promise<Outputs> {
  if (name === null) return { names: [], write: async () => {}, abandon: async () => {} };
  const base = name.replace(/\.(?:json|html)$/, "");
  const names = [`${base}.json`, `${base}.html`] as const;
  const json = await ResultFile.prepare(names[0], "transcript");
  const html = await ResultFile.prepare(names[1], "transcript");
  return {
    names,
    write: async (result, page) => {
      await json.write(Buffer.from(`${JSON.stringify(result)}\n`));
      await html.write(Buffer.from(page));
    },
    abandon: async () => {
      await json.abandon();
      await html.abandon();
    },
  };
}

async function readResult(path: string | null): Promise<BenchResult | null> {
  return path === null ? null : parseResult(await readFile(path, "utf8"), path);
}

async function planOf(input: CommandInput, given: string | null): Promise<BenchPlan> {
  const { options } = input;
  const scenario = choice(options.text("scenario") ?? "live", "scenario", SCENARIOS);
  const wire: WireName = choice(options.text("wire") ?? "dauys", "wire", WIRES);
  const { url, key } = await connectionOf(input, given);
  const folder = options.text("clips");
  const language = options.text("language");
  if (folder !== null && language !== null) throw new UsageError("--language has no effect with --clips");
  if (language !== null) choice(language, "language", ["kk", "ru"]);
  const budget = options.text("budget");
  return {
    // Base URLs of OpenAI's SDKs end with the version.
    url: url.replace(/\/v1\/?$/, ""),
    ...{ key, scenario, wire, load: loadOf(input, scenario) },
    clips: folder === null ? await includedClips(language) : await clipsOf(folder),
    model: options.text("model"),
    voice: options.text("voice"),
    eouMs: wholeNumber("--eou-ms", options.text("eou-ms") ?? "200", 10_000),
    isEven: options.isSet("even"),
    isRamp: options.isSet("ramp"),
    minutes: positive("minutes", options.number("minutes") ?? DEFAULT_MINUTES, MOST_MINUTES),
    budget: budget === null ? null : wholeNumber("--budget", budget, 1e12),
  };
}

function loadOf({ options }: CommandInput, scenario: Scenario): number {
  const [sessions, rate] = [options.text("sessions"), options.number("rate")];
  if (scenario === "live") {
    if (rate !== null) throw new UsageError("--rate has no effect on live sessions; use --sessions");
    return sessions === null ? DEFAULT_LOAD.live : wholeNumber("--sessions", sessions, MOST_SESSIONS);
  }
  if (sessions !== null) throw new UsageError(`--sessions has no effect on ${scenario}; use --rate`);
  return positive("rate", rate ?? DEFAULT_LOAD[scenario], MOST_PER_SECOND);
}

function positive(name: string, value: number, most: number): number {
  if (value > 0 && value <= most) return value;
  throw new UsageError(`--${name} must be above 0 and at most ${most}, received "${value}"`);
}

function choice<T extends string>(value: string, name: string, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${name} must be one of ${known.join(", ")}, received "${value}"`);
}
