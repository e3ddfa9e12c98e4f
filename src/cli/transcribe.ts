import type { DauysClient, NodeAudioSource, Transcribed } from "../client/node.js";
import { type Command, type CommandInput, printNote, printText, UsageError } from "./command.js";
import { contentKey, freshKey, type KeyedWishes, keyOfBytes, type Wishes } from "./content-key.js";
import { defaultRecognizer } from "./default-recognizer.js";
import { Interruption } from "./interruption.js";
import { CallProgress, startProgress } from "./progress.js";
import { ResultFile } from "./result-file.js";
import { HOT_WORDS_ROW, MODEL_ROW, openService, QUIET_OPTION, SERVICE_OPTIONS } from "./service-client.js";
import { STT_URL_OPTION } from "./service-url.js";
import { isFolder, isUrl } from "./sources.js";
import { readPipedInput } from "./standard-input.js";
import { DEFAULT_PARALLEL, MOST_PARALLEL, transcribeSeveral } from "./transcribe-several.js";
import { askedFormats, formatOfName, type TranscriptFormat, written } from "./transcript-formats.js";

const CHOOSE_ONE = "choose --srt, --vtt or --json, or use -o FOLDER for several formats";

export const transcribeCommand: Command = {
  usage: "transcribe FILE|FOLDER|URL... [-o FILE|FOLDER]",
  summary: "Transcribe recordings into text or subtitles",
  description:
    'Transcribe one recording ("-" reads standard input) to standard output or -o FILE, or several recordings and folders to files next to them or in -o FOLDER.',
  options: {
    ...SERVICE_OPTIONS,
    ...STT_URL_OPTION,
    ...QUIET_OPTION,
    output: { type: "string", short: "o" },
    srt: { type: "boolean" },
    vtt: { type: "boolean" },
    model: { type: "string" },
    timestamps: { type: "boolean" },
    hotwords: { type: "string" },
    parallel: { type: "string" },
    again: { type: "boolean" },
  },
  optionHelp: [
    ["-o, --output PLACE", "File (.txt, .srt, .vtt or .json sets the format) or folder"],
    ["--srt", "SubRip subtitles"],
    ["--vtt", "WebVTT subtitles; with -o FOLDER, formats can be combined"],
    ["--timestamps", "Print a line per segment with its times; with --json, add words and segments"],
    MODEL_ROW,
    HOT_WORDS_ROW,
    ["--parallel N", `Recordings at a time, 1 to ${MOST_PARALLEL} (default: ${DEFAULT_PARALLEL})`],
    ["--again", "Repeat finished recordings, and charge them again"],
    ["--json", "The service's answer as JSON; for several recordings, .json files and a line for each"],
  ],
  note: "Recordings with current results are skipped; repeats within 24 hours are not charged again.",
  examples: [
    "transcribe talk.mp3",
    "transcribe talk.mp3 --srt -o talk.srt",
    "transcribe lectures interview.wav --srt --vtt -o subtitles",
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
  if (isOne && !(await isPlaceForSeveral(input.options.text("output")))) await transcribeOne(input, first);
  else if (first === "-")
    throw new UsageError(
      `-o must be a file for standard input, received "${input.options.text("output") ?? ""}"`,
    );
  else await transcribeSeveral(input, wishesOf(input));
}

async function transcribeOne(input: CommandInput, source: string): Promise<void> {
  const { options } = input;
  const output = options.text("output");
  if (output === "") throw new UsageError('-o must be a file or a folder, received ""');
  const path = output === "-" || output === "/dev/stdout" ? null : output;
  const format = formatOf(askedFormats(options), path);
  const wishes = wishesOf(input);
  const file = path === null ? null : await ResultFile.prepare(path, "transcript");
  const interruption = new Interruption();
  try {
    const client = await openService(input);
    const transcription = await ask(client, input, { source, wishes, signal: interruption.signal });
    const hasTimes = options.isSet("timestamps");
    const shown = format === "json" && !hasTimes ? withoutTimes(transcription) : transcription;
    const text = written(format, shown, { hasTimes });
    if (file === null || path === null) return printText(text);
    await file.write(Buffer.from(text));
    const { audio_seconds, credits_charged, is_replayed } = transcription;
    const cost = is_replayed ? "already charged" : `${credits_charged} credits`;
    if (!options.isSet("quiet")) printNote(`${path}: ${audio_seconds} s of audio, ${cost}`);
  } finally {
    interruption.over();
    await file?.abandon();
  }
}

interface Asked {
  readonly source: string;
  readonly wishes: Wishes;
  readonly signal: AbortSignal;
}

async function ask(client: DauysClient, input: CommandInput, { source, wishes, signal }: Asked) {
  const audio = await audioSource(source);
  const idempotencyKey = input.options.isSet("again")
    ? freshKey()
    : await keyOf(audio, async () => {
        const defaultModel = wishes.model === undefined ? await defaultRecognizer(client, signal) : null;
        return { ...wishes, defaultModel };
      });
  const progress = new CallProgress(source === "-" ? "standard input" : source);
  if (isUrl(source)) progress.transcribing();
  const stopProgress = startProgress(input, () => progress.parts());
  try {
    return await client.transcribe(audio, {
      ...wishes,
      signal,
      idempotencyKey,
      onUploadProgress: (upload) => progress.sent(upload),
      onProgress: (share) => progress.transcribed(share),
    });
  } finally {
    stopProgress();
  }
}

/** Returns no key for an address: its content may change, and the old key would then be rejected. */
async function keyOf(
  audio: NodeAudioSource,
  wishes: () => Promise<KeyedWishes>,
): Promise<string | undefined> {
  if (audio instanceof Uint8Array) return keyOfBytes(audio, await wishes());
  return "path" in audio ? await contentKey(audio.path, await wishes()) : undefined;
}

async function audioSource(source: string): Promise<NodeAudioSource> {
  if (isUrl(source)) return { url: source };
  return source === "-" ? await readPipedInput() : { path: source };
}

function wishesOf({ options }: CommandInput): Wishes {
  return {
    model: options.text("model") ?? undefined,
    timestamps: true,
    hotWords: options.text("hotwords")?.split(",") ?? [],
  };
}

/** Removes the times that the user did not request. */
function withoutTimes({ words: _words, segments: _segments, ...rest }: Transcribed): Transcribed {
  return rest;
}

/** Returns whether `output` is a folder. */
async function isPlaceForSeveral(output: string | null): Promise<boolean> {
  return output !== null && output !== "" && (output.endsWith("/") || (await isFolder(output)));
}

/** Returns the format of a single result. @throws {UsageError} for several formats, or an extension of another one */
function formatOf(asked: readonly TranscriptFormat[], path: string | null): TranscriptFormat {
  const [format, ...others] = asked;
  if (others.length > 0)
    throw new UsageError(`${path ?? "standard output"} can hold only one format; ${CHOOSE_ONE}`);
  const promised = path === null ? null : formatOfName(path);
  if (format === undefined) return promised ?? "txt";
  if (promised !== null && promised !== format)
    throw new UsageError(
      `--${format} does not match the extension of -o, received "${path}"; use .${format}`,
    );
  return format;
}
