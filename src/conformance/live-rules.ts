import { CLOSE } from "../../core/domain/close-codes.js";
import type { LiveRule } from "./cases.js";
import { mismatch, shown } from "./matching.js";
import { type Message, messagesOf, type Trace } from "./trace.js";
import { failed, PASSED, passedIf, skipped, type Verdict } from "./verdict.js";

const RATE_HZ = 16_000;
/** Tolerance for rounding: a rounded time may be later than the exact one. */
const ROUNDING_SECONDS = 0.0011;

interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  readonly confidence: number;
}

type Utterance = Message & {
  readonly utterance: number;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly stable: number;
  readonly words?: readonly Word[];
};

/** Rules that a single pattern cannot express. */
export const LIVE_RULES: Readonly<Record<LiveRule, (trace: Trace) => Verdict>> = {
  opened: ({ protocol, refusal }) =>
    passedIf(
      protocol !== null,
      "an open socket",
      () => `status ${refusal?.status ?? "none"}: ${refusal?.body}`,
    ),
  "ready first": (trace) => {
    const [first] = messagesOf(trace);
    return passedIf(first?.type === "ready", "ready before all other messages", () => shown(first));
  },
  "text frames": (trace) => framesAre(trace, false),
  "binary frames": (trace) => framesAre(trace, true),
  "final received": (trace) =>
    passedIf(
      firstFinals(trace).some(({ text }) => text !== ""),
      "a final with text",
      () => typesOf(trace),
    ),
  "final once": (trace) => {
    const finals = utterancesOf(trace, "final");
    const again = finals.find(({ utterance }, index) =>
      finals.slice(0, index).some((before) => before.utterance === utterance),
    );
    if (finals.length === 0) return skipped("no final arrived");
    return passedIf(again === undefined, "one final for each utterance", () => `another: ${shown(again)}`);
  },
  "utterances count up": (trace) => {
    const numbers = firstFinals(trace).map(({ utterance }) => utterance);
    if (numbers.length < 2) return skipped("fewer than two finals arrived");
    return passedIf(
      numbers.every((number, index) => number === index),
      "utterance numbers 0, 1, 2, …",
      () => numbers.join(", "),
    );
  },
  "partials before their final": partialsBeforeFinal,
  "stable text kept": stableTextKept,
  "times in order": timesInOrder,
  "three decimals": (trace) => {
    const times = spoken(trace).flatMap(({ start, end, words = [] }) => [
      start,
      end,
      ...words.flatMap((word) => [word.start, word.end]),
    ]);
    const long = times.find((time) => Math.abs(time * 1_000 - Math.round(time * 1_000)) > 1e-6);
    return passedIf(long === undefined, "times in whole milliseconds", () => String(long));
  },
  "words inside their final": wordsInsideFinal,
  "done last": (trace) => {
    const messages = messagesOf(trace);
    const isLast = messages.at(-1)?.type === "done" && messagesOf(trace, "done").length === 1;
    return passedIf(isLast, "one done, after all other messages", () => typesOf(trace));
  },
  "exact seconds": (trace) => {
    const [done] = messagesOf(trace, "done");
    if (done === undefined) return skipped("no done arrived");
    const seconds = trace.sampleCount / RATE_HZ;
    return passedIf(done["audio_seconds"] === seconds, `audio_seconds ${seconds}`, () => shown(done));
  },
  "final before close": ({ entries }) => {
    const close = entries.findIndex((entry) => "sent" in entry && entry.sent === "close");
    const final = entries.findIndex((entry) => "received" in entry && entry.received.type === "final");
    return passedIf(final >= 0 && final < close, "a final before close is sent", () =>
      final < 0 ? "no final" : "a final only after close",
    );
  },
  "kept up or too fast": (trace) => {
    const [error] = messagesOf(trace, "error");
    if (error === undefined && trace.closeCode === null)
      return skipped("the server decoded as fast as it received");
    const differs = mismatch({ code: "too_fast", retryable: false }, error);
    if (differs !== null) return failed("error too_fast", differs);
    return passedIf(
      trace.closeCode === CLOSE.badRequest,
      `close code ${CLOSE.badRequest}`,
      () => `${trace.closeCode}`,
    );
  },
};

function framesAre({ entries }: Trace, isBinary: boolean): Verdict {
  const other = entries.find((entry) => "received" in entry && entry.isBinary !== isBinary);
  const kind = isBinary ? "binary" : "text";
  return passedIf(other === undefined, `every message as a ${kind} frame`, () => shown(other));
}

function partialsBeforeFinal(trace: Trace): Verdict {
  const finished = new Set<number>();
  for (const message of spoken(trace)) {
    if (message.type === "final") finished.add(message.utterance);
    else if (finished.has(message.utterance)) return failed("no partial after its final", shown(message));
  }
  return PASSED;
}

function stableTextKept(trace: Trace): Verdict {
  const partials = utterancesOf(trace, "partial");
  if (partials.length === 0) return skipped("no partial arrived");
  const promised = new Map<number, string>();
  for (const partial of partials) {
    const before = promised.get(partial.utterance) ?? "";
    if (!partial.text.startsWith(before)) return failed(`text that starts with "${before}"`, shown(partial));
    const stable = [...partial.text].slice(0, partial.stable).join("");
    if (stable.length > before.length) promised.set(partial.utterance, stable);
  }
  return PASSED;
}

function timesInOrder(trace: Trace): Verdict {
  const limit = trace.sampleCount / RATE_HZ + ROUNDING_SECONDS;
  for (const message of spoken(trace)) {
    if (!(message.start >= 0 && message.start <= message.end && message.end <= limit))
      return failed(`0 <= start <= end <= ${limit.toFixed(3)}`, shown(message));
  }
  let before = 0;
  for (const final of firstFinals(trace)) {
    if (final.start < before - ROUNDING_SECONDS) return failed(`start at or after ${before}`, shown(final));
    before = final.end;
  }
  return PASSED;
}

function wordsInsideFinal(trace: Trace): Verdict {
  for (const { words = [], start, end } of firstFinals(trace)) {
    let before = start - ROUNDING_SECONDS;
    for (const word of words) {
      const differs = mismatch({ word: { is: "string" }, confidence: { is: "number" } }, word);
      if (differs !== null) return failed("words with word, start, end and confidence", differs);
      if (word.confidence < 0 || word.confidence > 1) return failed("confidence from 0 to 1", shown(word));
      if (!(word.start >= before && word.end >= word.start && word.end <= end + ROUNDING_SECONDS))
        return failed(`words in order from ${start} to ${end}`, shown(word));
      before = word.start;
    }
  }
  return PASSED;
}

/** Finals without repeats, which another rule reports. */
export function firstFinals(trace: Trace): readonly Utterance[] {
  const finals = utterancesOf(trace, "final");
  return finals.filter(
    ({ utterance }, index) => finals.findIndex((each) => each.utterance === utterance) === index,
  );
}

function spoken(trace: Trace): readonly Utterance[] {
  return messagesOf(trace).filter(({ type }) => type === "partial" || type === "final") as Utterance[];
}

function utterancesOf(trace: Trace, type: "partial" | "final"): readonly Utterance[] {
  return messagesOf(trace, type) as Utterance[];
}

/** Lists the types of all messages and how the session ended, for a report. */
export function typesOf(trace: Trace): string {
  const types = messagesOf(trace).map(({ type, ...rest }) =>
    type === "error" ? shown({ type, ...rest }) : `${type}`,
  );
  return [...types, trace.closeCode === null ? "no close" : `close ${trace.closeCode}`].join(", ");
}
