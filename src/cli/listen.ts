import { MOST_CHANNELS } from "../../core/domain/audio/channels.js";
import type { LiveDone, LiveStatus } from "../client/live-options.js";
import type { LiveTranscription } from "../client/live-transcription.js";
import type { LiveResult } from "../client/live-types.js";
import type { DauysClient } from "../client/node.js";
import {
  type Command,
  type CommandInput,
  onlyArgument,
  printLine,
  printNote,
  wholeNumber,
} from "./command.js";
import { atRealTime, openLiveAudio } from "./live-audio.js";
import { LiveText } from "./live-text.js";
import {
  HOT_WORDS_ROW,
  MODEL_ROW,
  openService,
  QUIET_OPTION,
  READING_OPTIONS,
  READING_ROWS,
  type ReadingChoice,
  readingChoice,
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
    channels: { type: "string" },
    hotwords: { type: "string" },
    ...READING_OPTIONS,
  },
  optionHelp: [
    MODEL_ROW,
    HOT_WORDS_ROW,
    ...READING_ROWS,
    ["--eou-ms MS", "Silence that ends an utterance, 100 to 2000 ms"],
    ["--adaptive", "Wait up to three times as long if the sentence seems unfinished"],
    ["--channels N", "Transcribe and charge each of N channels separately, as speakers"],
    ["--words", "With --json: add the times of each word"],
    ["--json", "Print every message as a line of JSON"],
  ],
  note: "Each line is a sentence, whose final punctuation appears once the next words decide it. With --plain, each line is an utterance.",
  examples: [
    "listen talk.wav",
    "listen - < talk.pcm",
    "listen talk.wav --json --words",
    "listen call.wav --channels 2",
  ],
  run: listen,
};

async function listen(input: CommandInput): Promise<void> {
  const reading = readingChoice(input);
  // Open the audio first, so that a missing file does not open a session.
  const source = onlyArgument(input, "FILE", '; use "-" to read standard input');
  const channelCount = channelsOf(input);
  const audio = await openLiveAudio(source, channelCount ?? 1);
  let onReady = () => {};
  const isReady = new Promise<void>((settle) => {
    onReady = settle;
  });
  const session = new AbortController();
  const output = outputOf(input);
  const live = openLive(await openService(input), input, {
    reading,
    channelCount,
    signal: session.signal,
    onStatus: (status) => {
      output.status(status);
      if (status.type === "ready") onReady();
    },
  });
  const results = readAll(live, output);
  // Failures are reported by the await below, after the recording has been sent.
  results.catch(() => {});
  const interrupted = new AbortController();
  const stop = () => interrupted.abort();
  // The first Ctrl-C ends the recording, and the last results still arrive. A second one ends the process.
  process.once("SIGINT", stop);
  try {
    // The real-time clock starts when the session is ready.
    await Promise.race([isReady, results]);
    await Promise.race([send(live, atRealTime(audio, channelCount), interrupted.signal), results]);
    await results;
    output.done(await live.done);
  } catch (error) {
    output.failed();
    throw error;
  } finally {
    process.off("SIGINT", stop);
    // Without this, a failed source would leave the session open.
    session.abort();
    // An open standard input would keep the process alive.
    process.stdin.destroy();
  }
}

/** @throws {UsageError} if the number is not allowed */
function channelsOf({ options }: CommandInput): number | undefined {
  const text = options.text("channels");
  return text === null ? undefined : wholeNumber("--channels", text, MOST_CHANNELS);
}

interface LiveParts {
  readonly reading: ReadingChoice;
  readonly channelCount: number | undefined;
  readonly signal: AbortSignal;
  readonly onStatus: (status: LiveStatus) => void;
}

function openLive(
  client: DauysClient,
  { options }: CommandInput,
  { reading, channelCount, signal, onStatus }: LiveParts,
): LiveTranscription {
  return client.live({
    model: options.text("model") ?? undefined,
    endOfUtteranceMs: options.number("eou-ms") ?? undefined,
    endpointing: options.isSet("adaptive") ? "adaptive" : undefined,
    words: options.isSet("words") || undefined,
    hotWords: options.text("hotwords")?.split(","),
    ...reading,
    channelCount,
    signal,
    onStatus,
  });
}

async function readAll(live: LiveTranscription, output: Output): Promise<void> {
  for await (const result of live) output.result(result);
}

async function send(
  live: LiveTranscription,
  parts: AsyncGenerator<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const end = new Promise<{ readonly done: true }>((settle) => {
    signal.addEventListener("abort", () => settle({ done: true }));
  });
  for (;;) {
    const next = await Promise.race([parts.next(), end]);
    if (next.done === true) break;
    await live.send(next.value);
  }
  // `readAll` reports failures.
  live.close().catch(() => {});
}

/** Prints the results of a session. */
interface Output {
  status(status: LiveStatus): void;
  result(result: LiveResult): void;
  done(done: LiveDone): void;
  /** Ends an open line before the error is printed. */
  failed(): void;
}

function outputOf({ options }: CommandInput): Output {
  return options.isSet("json") ? jsonOutput(!options.isSet("plain")) : textOutput(options.isSet("quiet"));
}

function jsonOutput(isReadable: boolean): Output {
  return {
    status: (status) => {
      if (status.type !== "ready") return printStatus(status);
      const { sessionId, requestId, model, endOfUtteranceMs } = status;
      const names = { session_id: sessionId, request_id: requestId, model, eou_ms: endOfUtteranceMs };
      printJson({ type: "ready", ...names });
    },
    result: printJson,
    done: ({ audioSeconds, creditsCharged, sessionIds, displayEnd, displayEnds }) =>
      printJson({
        type: "done",
        audio_seconds: audioSeconds,
        credits_charged: creditsCharged,
        session_ids: sessionIds,
        ...(isReadable && { display_end: displayEnd }),
        ...(isReadable && displayEnds !== undefined && { display_ends: displayEnds }),
      }),
    failed: () => {},
  };
}

function textOutput(isQuiet: boolean): Output {
  const text = new LiveText(process.stdout);
  return {
    status: (status) => {
      if (!isQuiet && status.type !== "ready") text.above(() => printStatus(status));
    },
    result: (result) => {
      const { channel } = result;
      if (channel !== undefined) text.turn(`Speaker ${channel + 1}`, result);
      else if (result.type === "final") text.final(result);
      else text.partial(result.text);
    },
    done: ({ displayEnd }) => text.end(displayEnd),
    failed: () => text.end(""),
  };
}

function printJson(message: object): void {
  printLine(JSON.stringify(message));
}

function printStatus(status: LiveStatus): void {
  if (status.type === "going_away") printNote(`the service shuts down within ${status.deadlineSeconds} s`);
  else if (status.type === "reconnecting") {
    const cause = withAdvice(status.cause);
    printNote(`${cause instanceof Error ? cause.message : String(cause)}; reconnecting`);
  }
}
