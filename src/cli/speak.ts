import { createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import {
  type Command,
  CommandError,
  type CommandInput,
  onlyArgument,
  printLine,
  printNote,
  UsageError,
} from "./command.js";
import { readAll, SERVICE_OPTION_HELP, SERVICE_OPTIONS, ServiceClient } from "./service-client.js";
import { FrameReader, openWavHeader, wavHeader } from "./wav-frames.js";

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
  const body = requestBody(input, argument === "-" ? await readStandardInput() : argument);
  const client = await ServiceClient.open(input);
  const askedAtMs = performance.now();
  const response = await client.post({
    path: options.isSet("stream") ? "v1/tts/stream" : "v1/tts",
    headers: { "content-type": "application/json", "content-length": body.length },
    body,
  });
  let firstAudioMs = Number.NaN;
  response.once("data", () => {
    firstAudioMs = Math.round(performance.now() - askedAtMs);
  });
  // The listener above starts the flow; the reader below starts it again.
  response.pause();
  await (options.isSet("stream") ? writeFrames(response, output) : writeWhole(response, output));
  const spoken: Spoken = {
    file: output,
    characters: numberHeader(response, "x-svc-chars"),
    credits: numberHeader(response, "x-svc-credits"),
    first_audio_ms: firstAudioMs,
  };
  if (options.isSet("json")) printLine(JSON.stringify(spoken));
  else if (output !== "-")
    printNote(`${output}: ${spoken.characters ?? "?"} characters, first audio after ${firstAudioMs} ms`);
}

function requestBody({ options }: CommandInput, text: string): Buffer {
  const body = {
    text,
    model: options.text("model") ?? undefined,
    voice: options.text("voice") ?? undefined,
    speed: options.number("speed") ?? undefined,
    nfe: options.number("nfe") ?? undefined,
    normalize: options.isSet("no-normalize") ? false : undefined,
  };
  return Buffer.from(JSON.stringify(body));
}

async function readStandardInput(): Promise<string> {
  return (await readAll(process.stdin)).toString("utf8").trim();
}

async function writeWhole(response: IncomingMessage, output: string): Promise<void> {
  if (output === "-") return await pipeline(response, process.stdout, { end: false });
  await removedOnFailure(output, () => pipeline(response, createWriteStream(output)));
}

/** Joins the sentences into one WAV as they come. */
async function writeFrames(response: IncomingMessage, output: string): Promise<void> {
  if (output === "-") {
    for await (const part of joinedPcm(response, openWavHeader)) process.stdout.write(part);
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
      for await (const part of joinedPcm(response, provisionalHeader)) {
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
  response: IncomingMessage,
  makeHeader: (sampleRateHz: number) => Uint8Array,
): AsyncGenerator<Uint8Array> {
  const reader = new FrameReader();
  let hasHeader = false;
  for await (const bytes of response as AsyncIterable<Buffer>) {
    for (const frame of reader.push(bytes)) {
      if (!hasHeader) yield makeHeader(frame.sampleRateHz);
      hasHeader = true;
      yield frame.pcm;
    }
  }
  if (!hasHeader || reader.isInsideFrame)
    throw new CommandError("the sound ended in the middle of a sentence");
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

function numberHeader(response: IncomingMessage, name: string): number | null {
  const value = response.headers[name];
  return typeof value === "string" && value !== "" && Number.isFinite(Number(value)) ? Number(value) : null;
}
