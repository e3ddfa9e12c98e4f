import type { DauysClient, NodeAudioSource, Transcribed } from "../client/node.js";
import { type Command, type CommandInput, printRemark, printText, UsageError } from "./command.js";
import { contentKey, freshKey, keyedOptions, type TranscriptOptions } from "./idempotency-key.js";
import { interruptible } from "./interruption.js";
import { CallProgress, withProgress } from "./progress.js";
import { ResultFile } from "./result-file.js";
import {
  HOT_WORDS_ROW,
  MODEL_ROW,
  openService,
  QUIET_OPTION,
  READING_OPTIONS,
  READING_ROWS,
  readingChoice,
  SERVICE_OPTIONS,
} from "./service-client.js";
import { STT_URL_OPTION } from "./service-url.js";
import { isFolder, isUrl } from "./sources.js";
import { readPipedInput } from "./standard-streams.js";
import { DEFAULT_PARALLEL, MOST_PARALLEL, transcribeSeveral } from "./transcribe-several.js";
import {
  formatOfName,
  formatTranscript,
  requestedFormats,
  type TranscriptFormat,
} from "./transcript-formats.js";

const CHOOSE_ONE = "choose --srt, --vtt or --json, or use -o FOLDER for several formats";

export const transcribeCommand: Command = {
  usage: "transcribe FILE|FOLDER|URL... [-o FILE|FOLDER]",
  summary: "Transcribe recordings into text or subtitles",
  description:
    'Transcribe one recording ("-" reads standard input) to standard output or -o FILE. Several recordings, or a folder, are transcribed into files next to them, or in -o FOLDER.',
  options: {
    ...SERVICE_OPTIONS,
    ...STT_URL_OPTION,
    ...QUIET_OPTION,
    output: { type: "string", short: "o" },
    srt: { type: "boolean" },
    vtt: { type: "boolean" },
    model: { type: "string" },
    timestamps: { type: "boolean" },
    diarize: { type: "boolean" },
    speakers: { type: "string" },
    channels: { type: "string" },
    hotwords: { type: "string" },
    ...READING_OPTIONS,
    jobs: { type: "boolean" },
    parallel: { type: "string" },
    again: { type: "boolean" },
  },
  optionHelp: [
    ["-o, --output PLACE", "File (.txt, .srt, .vtt or .json sets the format) or folder"],
    ["--srt", "Write SubRip subtitles"],
    ["--vtt", "Write WebVTT subtitles; with -o FOLDER, formats can be combined"],
    ["--timestamps", "Print a line per segment with its times; with --json, add words and segments"],
    ["--diarize", "Tell speakers apart: one line or cue per speaker, and speakers in JSON"],
    ["--speakers N", "Number of speakers, if it is known; with --diarize"],
    ["--channels split", "Transcribe and charge each channel separately, as speakers"],
    MODEL_ROW,
    HOT_WORDS_ROW,
    ...READING_ROWS,
    ["--parallel N", `Recordings at a time, 1 to ${MOST_PARALLEL} (default: ${DEFAULT_PARALLEL})`],
    ["--jobs", "Upload as jobs that continue after Ctrl-C; for many or long recordings"],
    ["--again", "Repeat finished recordings, and charge them again"],
    ["--json", "Print JSON; for several recordings, one line each, and .json files"],
  ],
  note: "Recordings with current results are skipped; repeats within 24 hours are not charged again.",
  examples: [
    "transcribe talk.mp3",
    "transcribe talk.mp3 --srt -o talk.srt",
    "transcribe --jobs lectures -o texts",
    "transcribe lectures interview.wav --srt --vtt -o subtitles",
    "transcribe call.wav --channels split --srt",
    'transcribe talk.mp3 --hotwords "айнұр,маңғыстау:2"',
    "transcribe - < talk.mp3",
  ],
  run: transcribe,
};

async function transcribe(input: CommandInput): Promise<void> {
  const { positionals } = input;
  const [first, ...others] = positionals;
  if (first === undefined) throw new UsageError('FILE is missing; use "-" to read standard input');
  if (positionals.includes("-") && others.length > 0)
    throw new UsageError('"-" (standard input) cannot be combined with other recordings');
  const isOne = others.length === 0 && (isUrl(first) || !(await isFolder(first)));
  const isJob = input.options.isSet("jobs");
  if (isJob && first === "-") throw new UsageError('"-" (standard input) cannot be transcribed as a job');
  if (isOne && !isJob && !(await isFolderPath(input.options.text("output"))))
    await transcribeOne(input, first);
  else if (first === "-")
    throw new UsageError(
      `-o must be a file for standard input, received "${input.options.text("output") ?? ""}"`,
    );
  else await transcribeSeveral(input, transcriptOptions(input));
}

async function transcribeOne(input: CommandInput, source: string): Promise<void> {
  const { options } = input;
  const output = options.text("output");
  if (output === "") throw new UsageError('-o must be a file or a folder, received ""');
  const path = output === "-" || output === "/dev/stdout" ? null : output;
  const format = formatOf(requestedFormats(options), path);
  const file = path === null ? null : await ResultFile.prepare(path, "transcript");
  await interruptible(async (signal) => {
    try {
      const transcription = await request(input, source, signal);
      const hasTimes = options.isSet("timestamps");
      const isWhole = hasTimes || options.isSet("diarize");
      const shown = format === "json" && !isWhole ? withoutTimes(transcription) : transcription;
      const text = formatTranscript(format, shown, { hasTimes });
      if (file === null || path === null) return printText(text);
      await file.write(Buffer.from(text));
      const { audio_seconds, credits_charged, is_replayed } = transcription;
      const cost = is_replayed ? "already charged" : `${credits_charged} credits`;
      printRemark(input, `${path}: ${audio_seconds} s of audio, ${cost}`);
    } finally {
      await file?.abandon();
    }
  });
}

async function request(input: CommandInput, source: string, signal: AbortSignal): Promise<Transcribed> {
  const client = await openService(input);
  const options = transcriptOptions(input);
  const audio = await audioSource(source);
  const idempotencyKey = input.options.isSet("again")
    ? freshKey()
    : await keyOf(client, audio, { options, signal });
  const progress = new CallProgress(source === "-" ? "standard input" : source);
  if (isUrl(source)) progress.transcribing();
  const call = {
    ...options,
    signal,
    idempotencyKey,
    onUploadProgress: progress.sent.bind(progress),
    onProgress: progress.transcribed.bind(progress),
  };
  return await withProgress(
    input,
    () => progress.parts(),
    () => client.transcribe(audio, call),
  );
}

/** Returns no key for a URL: its content may change, and the service would then reject the old key. */
async function keyOf(
  client: DauysClient,
  audio: NodeAudioSource,
  { options, signal }: { readonly options: TranscriptOptions; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const content = audio instanceof Uint8Array ? audio : "path" in audio ? audio.path : null;
  if (content === null) return undefined;
  return await contentKey(content, await keyedOptions(client, options, signal));
}

async function audioSource(source: string): Promise<NodeAudioSource> {
  if (isUrl(source)) return { url: source };
  return source === "-" ? await readPipedInput() : { path: source };
}

function transcriptOptions(input: CommandInput): TranscriptOptions {
  const { options } = input;
  return {
    ...readingChoice(input),
    ...speakerChoice(input),
    model: options.text("model") ?? undefined,
    timestamps: true,
    channels: channelsOf(options.text("channels")),
    hotWords: options.text("hotwords")?.split(",") ?? [],
  };
}

/**
 * @throws {UsageError} if the number of speakers is invalid, or is combined with split channels or no
 * `--diarize`
 */
function speakerChoice({ options }: CommandInput): Pick<TranscriptOptions, "diarize" | "speakers"> {
  const diarize = options.isSet("diarize");
  if (diarize && channelsOf(options.text("channels")) === "split")
    throw new UsageError("--diarize cannot be combined with --channels split: each channel is a speaker");
  const speakers = options.text("speakers");
  if (speakers === null) return { diarize };
  if (!diarize) throw new UsageError("--speakers needs --diarize");
  if (!/^\d{1,3}$/.test(speakers))
    throw new UsageError(`--speakers must be a number of speakers, received "${speakers}"`);
  return { diarize, speakers: Number(speakers) };
}

/** @throws {UsageError} if the value is neither */
function channelsOf(value: string | null): "split" | undefined {
  if (value === null || value === "mix") return undefined;
  if (value === "split") return value;
  throw new UsageError(`--channels must be split or mix, received "${value}"`);
}

function withoutTimes(transcription: Transcribed): Transcribed {
  const { channels } = transcription;
  return {
    ...withoutLists(transcription),
    ...(channels !== undefined && { channels: channels.map(withoutLists) }),
  };
}

function withoutLists<T extends Pick<Transcribed, "words" | "segments" | "display_words">>(
  part: T,
): Omit<T, "words" | "segments" | "display_words"> {
  const { words: _words, segments: _segments, display_words: _displayWords, ...rest } = part;
  return rest;
}

/** Returns whether `output` is a folder, or looks like the name of one. */
async function isFolderPath(output: string | null): Promise<boolean> {
  return output !== null && output !== "" && (output.endsWith("/") || (await isFolder(output)));
}

/**
 * Returns the format of a single result. @throws {UsageError} for several formats, or a different extension
 */
function formatOf(requested: readonly TranscriptFormat[], path: string | null): TranscriptFormat {
  const [format, ...others] = requested;
  if (others.length > 0)
    throw new UsageError(`${path ?? "standard output"} can hold only one format; ${CHOOSE_ONE}`);
  const named = path === null ? null : formatOfName(path);
  if (format === undefined) return named ?? "txt";
  if (named !== null && named !== format)
    throw new UsageError(
      `--${format} does not match the extension of -o, received "${path}"; use .${format}`,
    );
  return format;
}
