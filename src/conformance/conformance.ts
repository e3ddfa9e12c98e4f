import { readFile } from "node:fs/promises";
import type { LiveCase, LiveScript, LiveStep, Requirement, SpeechCase, SpeechScript } from "./cases.js";
import { checkLive, checkSpeech } from "./checks.js";
import { LIVE_CASES } from "./live-cases.js";
import { runLive } from "./live-run.js";
import { LIVE_SCRIPTS } from "./live-scripts.js";
import { RATE_HZ, type Server } from "./server.js";
import { SPEECH_CASES, SPEECH_SCRIPTS } from "./speech-cases.js";
import { runSpeech } from "./speech-run.js";
import type { Answer, Trace } from "./trace.js";
import { skipped, together, type Verdict } from "./verdict.js";

/** Sessions by the names that cases use. */
const LIVE: Readonly<Record<string, LiveScript>> = LIVE_SCRIPTS;
const SPEECH: Readonly<Record<string, SpeechScript>> = SPEECH_SCRIPTS;
/** Number of concurrent sessions; the free tier allows four. */
const AT_A_TIME = 3;
/** Default prices; see docs/api-account.md. */
const LIVE_CREDITS_PER_SECOND = 6;
const SPEECH_CREDITS_PER_CHARACTER = 2 / 5;
/** The clip's path, relative to `dist/src/conformance`. */
const CLIP = new URL("../../../src/conformance/clip.wav", import.meta.url);

export type Case = LiveCase | SpeechCase;
export type CaseResult = Requirement & Verdict;

/** The cases that ran, with their results. */
export interface Report {
  readonly results: readonly CaseResult[];
  readonly traces: ReadonlyMap<string, Trace>;
  readonly answers: ReadonlyMap<string, Answer>;
}

export interface Selection {
  /** Part of an ID, section or requirement, in any letter case. Without it, all cases are selected. */
  readonly filter?: string;
  /** Whether to include cases that take a minute or cost most of the credits. */
  readonly withLong: boolean;
}

/** Returns the clip of speech that the cases use. */
export async function conformanceClip(): Promise<Uint8Array> {
  return await readFile(CLIP);
}

/** Returns the selected cases, including long ones. */
export function selectedCases({ filter = "" }: Selection): readonly Case[] {
  const part = filter.toLowerCase();
  return [...LIVE_CASES, ...SPEECH_CASES].filter(({ id, section, requirement }) =>
    [id, section, requirement].some((text) => text.toLowerCase().includes(part)),
  );
}

/** Returns the most that the cases can cost at the default prices. */
export function mostCredits(selection: Selection, clip: Uint8Array): number {
  const { live, speech } = scriptsOf(selection);
  const perSession = live.map(({ script }) => {
    const seconds = script.steps.reduce((sum, step) => sum + secondsOf(step, clip), 0);
    return Math.ceil(seconds * LIVE_CREDITS_PER_SECOND);
  });
  const perRequest = speech.map(({ script: { body } }) => {
    const text = typeof body === "string" ? "" : [...String(body["text"] ?? "")];
    return Math.ceil(text.length * SPEECH_CREDITS_PER_CHARACTER);
  });
  return [...perSession, ...perRequest].reduce((sum, credits) => sum + credits, 0);
}

/** Runs the sessions and requests that the cases need, each once, and checks all cases on their records. */
export async function runConformance(server: Server, selection: Selection): Promise<Report> {
  const { live, speech } = scriptsOf(selection);
  const traces = new Map<string, Trace>();
  const answers = new Map<string, Answer>();
  const runSession = async ({ name, script }: Named<LiveScript>) => {
    traces.set(name, await runLive(server, name, script));
  };
  const others = live.filter(({ script }) => script.isLast !== true);
  // Start long sessions first, so that the others run while they wait.
  others.sort((one, other) => Number(other.script.isLong ?? false) - Number(one.script.isLong ?? false));
  await inParallel(others, AT_A_TIME, runSession);
  for (const { name, script } of inOrder(speech)) answers.set(name, await runSpeech(server, name, script));
  for (const session of live.filter(({ script }) => script.isLast === true)) await runSession(session);
  const results = selectedCases(selection).map((each) => ({
    ...requirementOf(each),
    ...decide(each, traces, answers),
  }));
  return { results, traces, answers };
}

function decide(
  each: Case,
  traces: ReadonlyMap<string, Trace>,
  answers: ReadonlyMap<string, Answer>,
): Verdict {
  if ("session" in each) {
    const trace = traces.get(each.session);
    if (trace === undefined) return skipped("takes a minute or many credits: add --all");
    return together(each.checks.map((check) => checkLive(check, trace, (name) => traces.get(name) ?? null)));
  }
  const answer = answers.get(each.request);
  if (answer === undefined) return skipped("the request did not run");
  return together(
    each.checks.map((check) => checkSpeech(check, answer, (name) => answers.get(name) ?? null)),
  );
}

function requirementOf({ id, page, section, requirement }: Case): Requirement {
  return { id, page, section, requirement };
}

interface Named<Script> {
  readonly name: string;
  readonly script: Script;
}

/**
 * Returns the sessions and requests that the cases need, including those that they compare with or follow.
 */
function scriptsOf(selection: Selection): {
  readonly live: Named<LiveScript>[];
  readonly speech: readonly Named<SpeechScript>[];
} {
  const names = new Set<string>();
  const requests = new Set<string>();
  const withRequest = (name: string) => {
    const { after } = SPEECH[name]!;
    if (after !== undefined) withRequest(after);
    requests.add(name);
  };
  for (const each of selectedCases(selection)) {
    if ("request" in each) withRequest(each.request);
    else for (const name of [each.session, ...comparedWith(each)]) names.add(name);
  }
  const live = [...names].map((name) => ({ name, script: LIVE[name]! }));
  return {
    live: live.filter(({ script }) => selection.withLong || script.isLong !== true),
    speech: [...requests].map((name) => ({ name, script: SPEECH[name]! })),
  };
}

function comparedWith({ checks }: LiveCase): readonly string[] {
  return checks.flatMap((check) => {
    if ("sameFinalsAs" in check) return [check.sameFinalsAs];
    return "sameSecondsAs" in check ? [check.sameSecondsAs] : [];
  });
}

/** Sorts requests so that each comes after the one it follows. */
function inOrder(requests: readonly Named<SpeechScript>[]): readonly Named<SpeechScript>[] {
  return [...requests].sort(
    (one, other) => Number(one.script.after !== undefined) - Number(other.script.after !== undefined),
  );
}

function secondsOf(step: LiveStep, clip: Uint8Array): number {
  if ("await" in step || step.send === "text") return 0;
  if (step.send === "silence") return step.seconds;
  const bytes = { clip: clip.length, zeros: "bytes" in step ? step.bytes : 0, bytes: 64 }[step.send];
  return bytes / 2 / RATE_HZ;
}

async function inParallel<T>(
  work: readonly T[],
  atATime: number,
  run: (each: T) => Promise<void>,
): Promise<void> {
  const waiting = [...work];
  const one = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: atATime }, one));
}
