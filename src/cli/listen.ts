import type { LiveStatus } from "../client/live-options.js";
import type { LiveTranscription } from "../client/live-transcription.js";
import type { DauysClient } from "../client/node.js";
import type { LiveResult } from "../client/types.js";
import { type Command, type CommandInput, onlyArgument, printLine, printNote } from "./command.js";
import { atRealTime, openLiveAudio } from "./live-audio.js";
import { LiveTerminal } from "./live-terminal.js";
import {
  HOT_WORDS_HELP,
  MODEL_HELP,
  openService,
  QUIET_HELP,
  QUIET_OPTION,
  SERVICE_OPTION_HELP,
  SERVICE_OPTIONS,
  withAdvice,
} from "./service-client.js";
import { STREAM_URL_HELP, STREAM_URL_OPTION } from "./service-url.js";

export const listenCommand: Command = {
  usage: "listen FILE|-",
  summary: "Streams a WAV file, or raw 16-bit 16 kHz samples from standard input, and writes as it hears.",
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
    ...SERVICE_OPTION_HELP,
    STREAM_URL_HELP,
    "--json  every message as a line of JSON",
    QUIET_HELP,
    MODEL_HELP,
    "--eou-ms MS  silence that ends an utterance, 100 to 2000",
    "--adaptive  wait up to three times as long where the sentence seems to go on",
    "--words  with --json: the times of each word",
    HOT_WORDS_HELP,
  ],
  examples: ["listen talk.wav", "listen - < talk.pcm", "listen talk.wav --json --words"],
  run: listen,
};

async function listen(input: CommandInput): Promise<void> {
  // Before a session is opened, which is for somebody who speaks.
  const audio = await openLiveAudio(onlyArgument(input, "FILE", "; - hears standard input"));
  let onReady = () => {};
  const isReady = new Promise<void>((settle) => {
    onReady = settle;
  });
  const session = new AbortController();
  const live = openLive(await openService(input), input, { onReady, signal: session.signal });
  const show = input.options.isSet("json") ? printJson : showOn(new LiveTerminal(process.stdout));
  const heard = readAll(live, show);
  // Reported where it is awaited, once the recording is sent.
  heard.catch(() => {});
  const enough = new AbortController();
  const stop = () => enough.abort();
  // Ctrl-C ends the recording: the last words and the bill still come. A second one ends all.
  process.once("SIGINT", stop);
  try {
    // Real time begins when somebody hears it.
    await Promise.race([isReady, heard]);
    await Promise.race([send(live, audio, enough.signal), heard]);
    await heard;
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
    // A source that fails leaves a session that nobody speaks into.
    session.abort();
    // An open standard input would keep the process.
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
  // Its end is awaited where the results are read.
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
  if (status.type === "going_away") printNote(`the service stops within ${status.deadlineSeconds} s`);
  else if (status.type === "reconnecting") {
    const cause = withAdvice(status.cause);
    printNote(`${cause instanceof Error ? cause.message : String(cause)}; trying again`);
  }
}

function showOn(terminal: LiveTerminal): (result: LiveResult) => void {
  return ({ type, text }) => (type === "partial" ? terminal.partial(text) : terminal.final(text));
}
