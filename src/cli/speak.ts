import { open, rm, writeFile } from "node:fs/promises";
import type { SpeechFrame, SpeechRequest, SpeechUsage } from "../client/types.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  onlyArgument,
  printLine,
  printNote,
  UsageError,
} from "./command.js";
import { openService, readStandardInput, SERVICE_OPTION_HELP, SERVICE_OPTIONS } from "./service-client.js";
import { openWavHeader, pcmOf, wavHeader } from "./wav-frames.js";

export const speakCommand: Command = {
  usage: 'speak "TEXT" -o FILE.wav',
  summary: "Says a text; TEXT - reads it from standard input, -o - writes the sound to standard output.",
  options: {
    ...SERVICE_OPTIONS,
    output: { type: "string", short: "o" },
    model: { type: "string" },
    voice: { type: "string" },
    speed: { type: "string" },
    nfe: { type: "string" },
    "no-normalize": { type: "boolean" },
    stream: { type: "boolean" },
  },
  optionHelp: [
    ...SERVICE_OPTION_HELP,
    "-o, --output FILE  where the WAV goes",
    "--model MODEL  model id",
    "--voice VOICE  a voice of the model",
    "--speed FACTOR  0.5 to 2",
    "--nfe STEPS  4 to 64: fewer is faster, more is better",
    "--no-normalize  leave numbers, dates and currencies as they are",
    "--stream  take the sound sentence by sentence as it is made",
  ],
  run: speak,
};

/** What was said, for `--json` and for the closing note. */
interface Spoken {
  readonly file: string;
  readonly characters: number | null;
  readonly credits: number | null;
  readonly first_audio_ms: number;
}

async function speak(input: CommandInput): Promise<void> {
  const { options } = input;
  const output = options.text("output");
  if (output === null) throw new UsageError("-o FILE is missing");
  if (output === "-" && options.isSet("json"))
    throw new UsageError("--json and -o - both want standard output");
  const argument = onlyArgument(input, "TEXT");
  const request = speechRequest(input, argument === "-" ? await readText() : argument);
  const client = await openService(input);
  const askedAtMs = performance.now();
  let firstAudioMs = Number.NaN;
  let usage: SpeechUsage | null = null;
  const firstHeard = (told: SpeechUsage) => {
    if (usage === null) firstAudioMs = Math.round(performance.now() - askedAtMs);
    usage = told;
  };
  if (options.isSet("stream")) {
    await writeFrames(client.speakStream(request), output, firstHeard);
  } else {
    const speech = await client.speak(request);
    firstHeard(speech.usage);
    await writeWhole(speech.wav, output);
  }
  report(input, output, firstAudioMs, usage);
}

function report(
  { options }: CommandInput,
  output: string,
  firstAudioMs: number,
  usage: SpeechUsage | null,
): void {
  const characters = usage?.characters ?? null;
  const spoken: Spoken = {
    file: output,
    characters,
    credits: usage?.creditsCharged ?? null,
    first_audio_ms: firstAudioMs,
  };
  if (options.isSet("json")) printLine(JSON.stringify(spoken));
  else if (output !== "-")
    printNote(`${output}: ${characters ?? "?"} characters, first audio after ${firstAudioMs} ms`);
}

function speechRequest({ options }: CommandInput, text: string): SpeechRequest {
  return {
    text,
    model: options.text("model") ?? undefined,
    voice: options.text("voice") ?? undefined,
    speed: options.number("speed") ?? undefined,
    nfe: options.number("nfe") ?? undefined,
    normalize: options.isSet("no-normalize") ? false : undefined,
  };
}

async function readText(): Promise<string> {
  return (await readStandardInput()).toString("utf8").trim();
}

async function writeWhole(wav: Uint8Array, output: string): Promise<void> {
  if (output === "-") await writeOut(wav);
  else await removedOnFailure(output, () => writeFile(output, wav));
}

/** Joins the sentences into one WAV as they come. */
async function writeFrames(
  frames: AsyncIterable<SpeechFrame>,
  output: string,
  onFrame: (usage: SpeechUsage) => void,
): Promise<void> {
  if (output === "-") {
    for await (const part of joinedPcm(frames, openWavHeader, onFrame)) await writeOut(part);
    return;
  }
  await removedOnFailure(output, async () => {
    const file = await open(output, "w");
    try {
      let sampleRateHz = 0;
      let bytes = 0;
      const provisionalHeader = (rateHz: number) => {
        sampleRateHz = rateHz;
        return wavHeader(rateHz, 0);
      };
      for await (const part of joinedPcm(frames, provisionalHeader, onFrame)) {
        await file.write(part, 0, part.length, bytes);
        bytes += part.length;
      }
      const header = wavHeader(sampleRateHz, bytes - wavHeader(sampleRateHz, 0).length);
      await file.write(header, 0, header.length, 0);
    } finally {
      await file.close();
    }
  });
}

/** One header, then the samples of every frame. */
async function* joinedPcm(
  frames: AsyncIterable<SpeechFrame>,
  makeHeader: (sampleRateHz: number) => Uint8Array,
  onFrame: (usage: SpeechUsage) => void,
): AsyncGenerator<Uint8Array> {
  for await (const { sequence, sampleRateHz, wav, usage } of frames) {
    onFrame(usage);
    if (sequence === 0) yield makeHeader(sampleRateHz);
    yield pcmOf(wav);
  }
}

async function writeOut(bytes: Uint8Array): Promise<void> {
  await new Promise<void>((settle, fail) => {
    process.stdout.write(bytes, (error) => (error == null ? settle() : fail(error)));
  });
}

/** Half a file looks like a whole one: better none. */
async function removedOnFailure(path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    await rm(path, { force: true });
    throw new CommandError(`Cannot write ${path}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}
