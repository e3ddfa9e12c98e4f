import type { DauysClient } from "../client/node.js";
import type { SpeechRequest, SpeechUsage } from "../client/types.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  onlyArgument,
  printLine,
  printNote,
  UsageError,
} from "./command.js";
import { Interruption } from "./interruption.js";
import { clock, startProgress } from "./progress.js";
import { PRONUNCIATIONS_ROW, readPronunciations } from "./pronunciations.js";
import { openService, QUIET_OPTION, SERVICE_OPTIONS } from "./service-client.js";
import { prepareSoundFile } from "./sound-file.js";
import { readTypedInput } from "./standard-input.js";
import { StandardOutput } from "./standard-output.js";
import { openWavHeader, pcmOf, wavHeader } from "./wav-frames.js";

export const speakCommand: Command = {
  usage: 'speak "TEXT" -o FILE.wav',
  summary: "Turn text into speech",
  description:
    'Synthesize TEXT and write it as a WAV file; "-" as TEXT reads standard input, "-" as FILE writes to standard output.',
  options: {
    ...SERVICE_OPTIONS,
    ...QUIET_OPTION,
    output: { type: "string", short: "o" },
    model: { type: "string" },
    voice: { type: "string" },
    speed: { type: "string" },
    nfe: { type: "string" },
    seed: { type: "string" },
    pronunciations: { type: "string" },
    "no-normalize": { type: "boolean" },
    "no-room-tone": { type: "boolean" },
    stream: { type: "boolean" },
  },
  optionHelp: [
    ["-o, --output FILE", "WAV file to write; it is opened before anything is charged"],
    ["--model MODEL", "Speech model (default: the service's default)"],
    ["--voice VOICE", "Voice of the model"],
    ["--speed FACTOR", "Speaking rate, 0.5 to 2"],
    ["--nfe STEPS", "Synthesis steps, 4 to 64: fewer are faster, more sound better"],
    ["--seed N", "Seed of the take, 0 to 4294967295"],
    PRONUNCIATIONS_ROW,
    ["--no-normalize", "Leave numbers, dates and currencies as written"],
    ["--no-room-tone", "Use digital silence in pauses"],
    ["--stream", "Receive the audio while it is synthesized"],
    ["--json", "Print characters, credits and latency as JSON"],
  ],
  examples: [
    'speak "Сәлеметсіз бе!" -o salem.wav --voice dauren',
    'speak "Kaspi-ге бардым" -o kaspi.wav --pronunciations "Kaspi=каспи"',
    "speak - -o news.wav < news.txt",
    'speak "Қайырлы таң!" -o - --stream | aplay',
  ],
  run: speak,
};

/** The output of `--json`. */
interface Spoken {
  readonly file: string;
  readonly characters: number | null;
  readonly credits: number | null;
  readonly first_audio_ms: number;
}

async function speak(input: CommandInput): Promise<void> {
  const { options } = input;
  const given = options.text("output");
  if (given === null || given === "") throw new UsageError("-o FILE is missing");
  const output = given === "/dev/stdout" ? "-" : given;
  if (output === "-" && options.isSet("json"))
    throw new UsageError("--json cannot be combined with -o -: both write to standard output");
  if (output === "-" && process.stdout.isTTY)
    throw new UsageError("-o - would write audio to the terminal; use -o FILE.wav or a pipe");
  const argument = onlyArgument(input, "TEXT", '; use "-" to read standard input');
  const pronunciations = await readPronunciations(options.text("pronunciations"));
  const target = output === "-" ? new StandardOutput() : await prepareSoundFile(output);
  const interruption = new Interruption();
  try {
    const text = argument === "-" ? await readText() : argument;
    const request = { ...speechRequest(input, text), pronunciations };
    const client = await openService(input);
    const { wav, firstAudioMs, usage } = await speech(client, request, {
      input,
      isStreamed: options.isSet("stream"),
      onPart: (part) => target.part(part),
      signal: interruption.signal,
    });
    await target.write(wav);
    report(input, output, firstAudioMs, usage);
  } finally {
    interruption.over();
    await target.abandon();
  }
}

interface Wishes {
  readonly input: CommandInput;
  readonly isStreamed: boolean;
  /** Receives parts as they arrive: a WAV header of unknown length, then samples. */
  readonly onPart: (part: Uint8Array) => Promise<void>;
  readonly signal: AbortSignal;
}

interface Heard {
  /** The whole file, streamed or not. */
  readonly wav: Uint8Array;
  readonly firstAudioMs: number;
  readonly usage: SpeechUsage | null;
}

async function speech(client: DauysClient, request: SpeechRequest, wishes: Wishes): Promise<Heard> {
  const startedAtMs = performance.now();
  let heardSeconds = 0;
  const stopProgress = startProgress(wishes.input, () => {
    const parts = [`speaking, ${clock(performance.now() - startedAtMs)} so far`];
    return heardSeconds === 0 ? parts : [...parts, `${heardSeconds.toFixed(1)} s of sound`];
  });
  const onFrame = (seconds: number) => {
    heardSeconds += seconds;
  };
  try {
    return await heardSpeech(client, request, { ...wishes, onFrame });
  } finally {
    stopProgress();
  }
}

async function heardSpeech(
  client: DauysClient,
  request: SpeechRequest,
  wishes: Wishes & { readonly onFrame: (seconds: number) => void },
): Promise<Heard> {
  const askedAtMs = performance.now();
  const sinceAsked = () => Math.round(performance.now() - askedAtMs);
  const { isStreamed, onPart, onFrame, signal } = wishes;
  if (!isStreamed) {
    const { wav, usage } = await client.speak(request, { signal });
    const firstAudioMs = sinceAsked();
    await onPart(wav);
    return { wav, firstAudioMs, usage };
  }
  const pcm: Uint8Array[] = [];
  let firstAudioMs = Number.NaN;
  let rateHz = 0;
  let usage: SpeechUsage | null = null;
  for await (const frame of client.speakStream(request, { signal, frames: "chunks" })) {
    usage = frame.usage;
    const samples = pcmOf(frame.wav);
    if (frame.sequence === 0) {
      firstAudioMs = sinceAsked();
      rateHz = frame.sampleRateHz;
      await onPart(openWavHeader(rateHz));
    }
    pcm.push(samples);
    onFrame(frame.durationSeconds);
    await onPart(samples);
  }
  const bytes = pcm.reduce((sum, { length }) => sum + length, 0);
  return { wav: Buffer.concat([wavHeader(rateHz, bytes), ...pcm]), firstAudioMs, usage };
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
  else if (output !== "-" && !options.isSet("quiet"))
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
    seed: options.number("seed") ?? undefined,
    room_tone: options.isSet("no-room-tone") ? false : undefined,
  };
}

async function readText(): Promise<string> {
  const text = (await readTypedInput())
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .trim();
  if (text === "") throw new CommandError("standard input is empty; expected text");
  return text;
}
