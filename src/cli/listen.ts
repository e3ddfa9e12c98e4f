import type { LiveStatus } from "../client/live-options.js";
import type { LiveTranscription } from "../client/live-transcription.js";
import type { DauysClient } from "../client/node.js";
import type { LiveResult } from "../client/types.js";
import { type Command, type CommandInput, onlyArgument, printLine, printNote } from "./command.js";
import { atRealTime, openLiveAudio } from "./live-audio.js";
import {
  HOT_WORDS_ROW,
  MODEL_ROW,
  openService,
  QUIET_OPTION,
  SERVICE_OPTIONS,
  withAdvice,
} from "./service-client.js";
import { STREAM_URL_OPTION } from "./service-url.js";

const CLEAR_LINE = "\r\x1b[K";
const DEFAULT_COLUMNS = 80;

export const listenCommand: Command = {
  usage: "listen FILE|-",
  summary: "Transcribe a file or a stream in real time",
  description:
    'Stream a WAV file, or raw 16-bit mono samples at 16 kHz, to the service and print text as it is recognized; "-" reads standard input.',
  options: {
    ...SERVICE_OPTIONS,
    ...STREAM_URL_OPTION,
    ...QUIET_OPTION,
    model: { type: "string" },
    "eou-ms": { type: "string" },
    adaptive: { type: "boolean" },
    words: { type: "boolean" },
    hotwords: { type: "string" },
  },
  optionHelp: [
    MODEL_ROW,
    HOT_WORDS_ROW,
    ["--eou-ms MS", "Silence that ends an utterance, 100 to 2000 ms"],
    ["--adaptive", "Wait up to three times as long if the sentence seems unfinished"],
    ["--words", "With --json: add the times of each word"],
    ["--json", "Print every message as a line of JSON"],
  ],
  examples: ["listen talk.wav", "listen - < talk.pcm", "listen talk.wav --json --words"],
  run: listen,
};

async function listen(input: CommandInput): Promise<void> {
  // Open the audio first, so that a missing file opens no session.
  const audio = await openLiveAudio(onlyArgument(input, "FILE", '; use "-" to read standard input'));
  let onReady = () => {};
  const isReady = new Promise<void>((settle) => {
    onReady = settle;
  });
  const session = new AbortController();
  const live = openLive(await openService(input), input, { onReady, signal: session.signal });
  const show = input.options.isSet("json") ? printJson : showText;
  const results = readAll(live, show);
  // The await below reports failures, after the recording is sent.
  results.catch(() => {});
  const interrupted = new AbortController();
  const stop = () => interrupted.abort();
  // The first Ctrl-C ends the recording, and the last results still arrive; the second ends the process.
  process.once("SIGINT", stop);
  try {
    // Real time starts when the session is ready.
    await Promise.race([isReady, results]);
    await Promise.race([send(live, audio, interrupted.signal), results]);
    await results;
    const { audioSeconds, creditsCharged, sessionIds } = await live.done;
    if (input.options.isSet("json")) {
      printJson({
        type: "done",
        audio_seconds: audioSeconds,
        credits_charged: creditsCharged,
        session_ids: sessionIds,
      });
    }
  } finally {
    process.off("SIGINT", stop);
    // A failed source leaves the session open.
    session.abort();
    // An open standard input would keep the process alive.
    process.stdin.destroy();
  }
}

function openLive(
  client: DauysClient,
  { options }: CommandInput,
  { onReady, signal }: { readonly onReady: () => void; readonly signal: AbortSignal },
): LiveTranscription {
  const show = options.isSet("json") ? printStatusJson : options.isSet("quiet") ? () => {} : printStatus;
  return client.live({
    model: options.text("model") ?? undefined,
    endOfUtteranceMs: options.number("eou-ms") ?? undefined,
    endpointing: options.isSet("adaptive") ? "adaptive" : undefined,
    words: options.isSet("words") || undefined,
    hotWords: options.text("hotwords")?.split(","),
    signal,
    onStatus: (status) => {
      show(status);
      if (status.type === "ready") onReady();
    },
  });
}

async function readAll(live: LiveTranscription, show: (result: LiveResult) => void): Promise<void> {
  for await (const result of live) show(result);
}

async function send(
  live: LiveTranscription,
  audio: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const end = new Promise<{ readonly done: true }>((settle) => {
    signal.addEventListener("abort", () => settle({ done: true }));
  });
  const parts = atRealTime(audio);
  for (;;) {
    const next = await Promise.race([parts.next(), end]);
    if (next.done === true) break;
    await live.send(next.value);
  }
  // `readAll` reports failures.
  live.close().catch(() => {});
}

function printJson(message: object): void {
  printLine(JSON.stringify(message));
}

function printStatusJson(status: LiveStatus): void {
  if (status.type === "ready") {
    const { sessionId, requestId, model, endOfUtteranceMs } = status;
    const names = { session_id: sessionId, request_id: requestId, model, eou_ms: endOfUtteranceMs };
    printJson({ type: "ready", ...names });
  } else printStatus(status);
}

function printStatus(status: LiveStatus): void {
  if (status.type === "going_away") printNote(`the service shuts down within ${status.deadlineSeconds} s`);
  else if (status.type === "reconnecting") {
    const cause = withAdvice(status.cause);
    printNote(`${cause instanceof Error ? cause.message : String(cause)}; reconnecting`);
  }
}

/** Prints final text. A terminal also shows partial text, on a line that the next result overwrites. */
function showText({ type, text }: LiveResult): void {
  const { isTTY, columns } = process.stdout;
  const clear = isTTY ? CLEAR_LINE : "";
  if (type === "final") process.stdout.write(text === "" ? clear : `${clear}${text}\n`);
  else if (isTTY) {
    // The end changes most; a wrapped line could not be overwritten.
    const end = Array.from(text).slice(1 - (columns ?? DEFAULT_COLUMNS));
    process.stdout.write(clear + end.join(""));
  }
}
