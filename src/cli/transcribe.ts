import type { DauysClient, NodeAudioSource, Transcribed } from "../client/node.js";
import { type Command, type CommandInput, printNote, printText, UsageError } from "./command.js";
import { contentKey, freshKey, type KeyedWishes, keyOfBytes, type Wishes } from "./content-key.js";
import { defaultRecognizer } from "./default-recognizer.js";
import { Interruption } from "./interruption.js";
import { CallProgress, startProgress } from "./progress.js";
import { ResultFile } from "./result-file.js";
import {
  HOT_WORDS_HELP,
  MODEL_HELP,
  openService,
  QUIET_HELP,
  QUIET_OPTION,
  SERVICE_OPTION_HELP,
  SERVICE_OPTIONS,
} from "./service-client.js";
import { STT_URL_HELP, STT_URL_OPTION } from "./service-url.js";
import { isFolder, isUrl } from "./sources.js";
import { readPipedInput } from "./standard-input.js";
import { transcribeSeveral } from "./transcribe-several.js";
import { askedFormats, formatOfName, type TranscriptFormat, written } from "./transcript-formats.js";

const ONE_AT_A_TIME = "on standard output goes one of --srt, --vtt and --json; -o FOLDER takes them all";

export const transcribeCommand: Command = {
  usage: "transcribe FILE|FOLDER|URL... [-o FILE|FOLDER]",
  summary:
    "Writes recordings down. One goes to standard output or to -o FILE, and - reads it from standard input. Of several, " +
    "and of folders with all that is below them, each gets a file of its own, talk.mp3.txt, beside it or in -o FOLDER; " +
    "those that have theirs already are passed over, and what was charged within 24 hours is not charged again.",
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
    ...SERVICE_OPTION_HELP,
    STT_URL_HELP,
    "--json  the service's answer as JSON; of several, .json files, and a line for each on standard output",
    QUIET_HELP,
    "-o, --output PLACE  a file, whose ending .srt, .vtt or .json also says what it holds, or a folder",
    "--srt  SubRip subtitles",
    "--vtt  WebVTT subtitles; of several recordings any of --srt, --vtt and --json together",
    MODEL_HELP,
    "--timestamps  text in lines, one for each run of speech, with its times; with --json words and segments",
    HOT_WORDS_HELP,
    "--parallel N  several: so many at a time, 1 to 16; 2 when absent, which is what the free credits allow",
    "--again  transcribes, and charges, what was transcribed before as well",
  ],
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
  if (first === undefined) throw new UsageError("FILE is missing; - reads it from standard input");
  if (positionals.includes("-") && others.length > 0)
    throw new UsageError(
      "- is standard input, which goes alone: name files, folders and addresses without it",
    );
  const isOne = others.length === 0 && (isUrl(first) || !(await isFolder(first)));
  if (isOne && !(await isPlaceForSeveral(input.options.text("output")))) await transcribeOne(input, first);
  else if (first === "-") throw new UsageError("what comes from standard input has no name: say -o FILE");
  else await transcribeSeveral(input, wishesOf(input));
}

async function transcribeOne(input: CommandInput, source: string): Promise<void> {
  const { options } = input;
  const output = options.text("output");
  if (output === "") throw new UsageError("-o is empty: say a file or a folder");
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
    const cost = is_replayed ? "charged before" : `${credits_charged} credits`;
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

/** What is behind an address may change, so a key of its own would be refused then. */
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

/** The answer as it comes to those who do not ask for times. */
function withoutTimes({ words: _words, segments: _segments, ...rest }: Transcribed): Transcribed {
  return rest;
}

/** Whether results of several recordings have room there. */
async function isPlaceForSeveral(output: string | null): Promise<boolean> {
  return output !== null && output !== "" && (output.endsWith("/") || (await isFolder(output)));
}

/** What one place holds. @throws {UsageError} for several formats, and for a name that promises another */
function formatOf(asked: readonly TranscriptFormat[], path: string | null): TranscriptFormat {
  const [format, ...others] = asked;
  if (others.length > 0)
    throw new UsageError(path === null ? ONE_AT_A_TIME : `${path} holds one format: ${ONE_AT_A_TIME}`);
  const promised = path === null ? null : formatOfName(path);
  if (format === undefined) return promised ?? "txt";
  if (promised !== null && promised !== format)
    throw new UsageError(`--${format} does not go into a file named .${promised}`);
  return format;
}
