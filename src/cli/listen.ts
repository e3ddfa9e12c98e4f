import type { LiveStatus } from "../client/live-options.js";
import type { LiveTranscription } from "../client/live-transcription.js";
import type { DauysClient } from "../client/node.js";
import type { LiveResult } from "../client/types.js";
import { type Command, type CommandInput, onlyArgument, printLine, printNote } from "./command.js";
import { atRealTime, openLiveAudio } from "./live-audio.js";
import { LiveTerminal } from "./live-terminal.js";
import {
  HOT_WORDS_ROW,
  MODEL_ROW,
  openService,
  QUIET_OPTION,
  SERVICE_OPTIONS,
  withAdvice,
} from "./service-client.js";
import { STREAM_URL_OPTION } from "./service-url.js";

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
  const show = input.options.isSet("json") ? printJson : showOn(new LiveTerminal(process.stdout));
  const results = readAll(live, show);
  // The await below reports failures, after the recording is sent.
  results.catch(() => {});
  const enough = new AbortController();
  const stop = () => enough.abort();
  // The first Ctrl-C ends the recording; the last results and the charge still arrive. The second ends the process.
  process.once("SIGINT", stop);
  try {
    // Real time starts when the session is ready.
    await Promise.race([isReady, results]);
    await Promise.race([send(live, audio, enough.signal), results]);
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

interface Hooks {
  readonly onReady: () => void;
  readonly signal: AbortSignal;
}

function openLive(
  client: DauysClient,
  { options }: CommandInput,
  { onReady, signal }: Hooks,
): LiveTranscription {
  const remark = options.isSet("quiet") ? () => {} : printStatus;
  const show = options.isSet("json") ? printStatusJson : remark;
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
  enough: AbortSignal,
): Promise<void> {
  const interrupted = new Promise<"enough">((settle) => {
    enough.addEventListener("abort", () => settle("enough"));
  });
  const parts = atRealTime(audio);
  for (;;) {
    const next = await Promise.race([parts.next(), interrupted]);
    if (next === "enough" || next.done === true) break;
    await live.send(next.value);
  }
  // `readAll` reports failures.
  live.close().catch(() => {});
}

function printJson(message: object): void {
  printLine(JSON.stringify(message));
}

function printStatusJson(status: LiveStatus): void {
  if (status.type !== "ready") {
    printStatus(status);
    return;
  }
  const { sessionId, requestId, model, endOfUtteranceMs } = status;
  const names = { session_id: sessionId, request_id: requestId, model, eou_ms: endOfUtteranceMs };
  printJson({ type: "ready", ...names });
}

function printStatus(status: LiveStatus): void {
  if (status.type === "going_away") printNote(`the service shuts down within ${status.deadlineSeconds} s`);
  else if (status.type === "reconnecting") {
    const cause = withAdvice(status.cause);
    printNote(`${cause instanceof Error ? cause.message : String(cause)}; reconnecting`);
  }
}

function showOn(terminal: LiveTerminal): (result: LiveResult) => void {
  return ({ type, text }) => (type === "partial" ? terminal.partial(text) : terminal.final(text));
}
