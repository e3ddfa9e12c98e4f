import type { LiveCheck, SpeechCheck } from "./cases.js";
import { firstFinals, LIVE_RULES, typesOf } from "./live-rules.js";
import { mismatch, shown } from "./matching.js";
import { SPEECH_RULES } from "./speech-rules.js";
import { type Answer, messagesOf, type Trace } from "./trace.js";
import { failed, PASSED, passedIf, skipped, type Verdict } from "./verdict.js";

const DETAIL_ONLY = { only: { detail: { is: "string" } } } as const;

/** Applies a check to the record of its session. @param of returns the record of another session */
export function checkLive(check: LiveCheck, trace: Trace, of: (session: string) => Trace | null): Verdict {
  if ("rule" in check) return LIVE_RULES[check.rule](trace);
  if ("closed" in check) {
    const received = () => (trace.closeCode === null ? "no close" : `${trace.closeCode}`);
    return passedIf(trace.closeCode === check.closed, `close code ${check.closed}`, received);
  }
  if ("notClosed" in check)
    return passedIf(trace.closeCode !== check.notClosed, `no close with ${check.notClosed}`, () =>
      typesOf(trace),
    );
  if ("protocol" in check)
    return passedIf(trace.protocol === check.protocol, `subprotocol ${check.protocol}`, () =>
      shown(trace.protocol),
    );
  if ("refused" in check) return checkRefusal(check, trace);
  if ("message" in check) return checkMessage(check, trace);
  const other = of("sameFinalsAs" in check ? check.sameFinalsAs : check.sameSecondsAs);
  if (other === null) return skipped("the session to compare with did not run");
  const value = (each: Trace) =>
    "sameFinalsAs" in check
      ? firstFinals(each).map(({ text }) => text)
      : messagesOf(each, "done").map((done) => done["audio_seconds"]);
  return passedIf(shown(value(trace)) === shown(value(other)), shown(value(other)), () =>
    shown(value(trace)),
  );
}

function checkMessage(
  { message: pattern, which, of }: Extract<LiveCheck, { readonly message: unknown }>,
  trace: Trace,
): Verdict {
  const messages = messagesOf(trace, of);
  const differences = messages.map((message) => mismatch(pattern, message));
  if (which === "none") {
    const found = messages[differences.indexOf(null)];
    return passedIf(found === undefined, `no ${of} like ${shown(pattern)}`, () => shown(found));
  }
  if (which === "each") {
    if (messages.length === 0) return skipped(`no ${of} arrived`);
    const difference = differences.find((each) => each !== null);
    return difference == null ? PASSED : failed(`each ${of} like ${shown(pattern)}`, difference);
  }
  const isFound = differences.includes(null);
  return passedIf(isFound, `${of} like ${shown(pattern)}`, () => differences[0] ?? typesOf(trace));
}

function checkRefusal(
  { refused, detail = "" }: Extract<LiveCheck, { readonly refused: number }>,
  { refusal, protocol }: Trace,
): Verdict {
  if (refusal === null)
    return failed(`status ${refused}`, protocol === null ? "no answer" : "an open socket");
  if (refusal.status !== refused) return failed(`status ${refused}`, `status ${refusal.status}`);
  return checkDetail(refusal.body, detail);
}

function checkDetail(body: string, part: string): Verdict {
  const parsed = parsedJson(body);
  const difference = mismatch(DETAIL_ONLY, parsed);
  if (difference !== null) return failed('{"detail": "…"} and nothing else', difference);
  const { detail } = parsed as { readonly detail: string };
  return passedIf(detail.includes(part), `a detail that names ${part}`, () => shown(detail));
}

/** Applies a check to a response. @param of returns the response to another request */
export function checkSpeech(
  check: SpeechCheck,
  answer: Answer,
  of: (request: string) => Answer | null,
): Verdict {
  if ("rule" in check) return SPEECH_RULES[check.rule](answer);
  if ("status" in check)
    return passedIf(
      answer.status === check.status,
      `status ${check.status}`,
      () => `status ${answer.status}`,
    );
  if ("header" in check) {
    const value = answer.headers[check.header];
    const matches = value?.startsWith(check.startsWith) === true;
    return passedIf(matches, `${check.header}: ${check.startsWith}`, () => shown(value));
  }
  if ("sameBytesAs" in check) {
    const other = of(check.sameBytesAs);
    if (other === null) return skipped("the request to compare with did not run");
    return passedIf(
      Buffer.compare(answer.bytes, other.bytes) === 0,
      "the same bytes",
      () => "different bytes",
    );
  }
  if (answer.status !== check.refused) return failed(`status ${check.refused}`, `status ${answer.status}`);
  const code = answer.headers["x-svc-error"] ?? "";
  if (check.error !== "" && code !== check.error) return failed(`X-Svc-Error: ${check.error}`, shown(code));
  return checkDetail(new TextDecoder().decode(answer.bytes), check.detail ?? "");
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
