import type { DauysClient } from "../client/node.js";
import type { SpeechRequest, SpeechUsage } from "../client/speech-types.js";
import { prepareAudioFile } from "./audio-file.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  onlyArgument,
  printLine,
  printRemark,
  UsageError,
} from "./command.js";
import { interruptible } from "./interruption.js";
import { clock, withProgress } from "./progress.js";
import { PRONUNCIATIONS_ROW, readPronunciations } from "./pronunciations.js";
import { openService, QUIET_OPTION, SERVICE_OPTIONS } from "./service-client.js";
import { type ReceivedSpeech, type SpeechCall, type SpokenFormat, synthesizeLive } from "./speak-live.js";
import { readTypedInput, StandardOutput } from "./standard-streams.js";
import { pcmOf, wavHeader } from "./wav-frames.js";

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
    encoding: { type: "string" },
    "sample-rate": { type: "string" },
    stream: { type: "boolean" },
    live: { type: "boolean" },
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
    ["--encoding NAME", "Samples of the WAV: linear16 (default), mulaw or alaw"],
    ["--sample-rate HZ", "8000 to 48000 (default: 24000; mulaw and alaw: 8000)"],
    ["--stream", "Receive the audio while it is synthesized"],
    ["--live", "Speak standard input as it arrives, each sentence once it is complete"],
    ["--json", "Print characters, credits and latency as JSON"],
  ],
  examples: [
    'speak "Сәлеметсіз бе!" -o salem.wav --voice dauren',
    'speak "Kaspi-ге бардым" -o kaspi.wav --pronunciations "Kaspi=каспи"',
    "speak - -o news.wav < news.txt",
    'speak "Қайырлы таң!" -o - --stream | aplay',
    "speak - --live -o - < answer.txt | aplay",
  ],
  run: speak,
};

async function speak(input: CommandInput): Promise<void> {
  const { options } = input;
  const given = options.text("output");
  if (given === null || given === "") throw new UsageError("-o FILE is missing");
  const output = given === "/dev/stdout" ? "-" : given;
  if (output === "-" && options.isSet("json"))
    throw new UsageError("--json cannot be combined with -o -: both write to standard output");
  if (output === "-" && process.stdout.isTTY)
    throw new UsageError("-o - would write audio to the terminal; use -o FILE.wav or a pipe");
  const format = formatOf(input);
  const argument = onlyArgument(input, "TEXT", '; use "-" to read standard input');
  const isLive = options.isSet("live");
  if (isLive && argument !== "-") throw new UsageError('--live speaks standard input: use "-" as TEXT');
  const pronunciations = await readPronunciations(options.text("pronunciations"));
  const target = output === "-" ? new StandardOutput() : await prepareAudioFile(output);
  await interruptible(async (signal) => {
    try {
      const onPart = (part: Uint8Array) => target.part(part);
      const call = { input, format, onPart, signal };
      const text = argument === "-" && !isLive ? await readText() : argument;
      const { text: said, ...spoken } = speechRequest(input, text);
      const manner = { ...spoken, pronunciations };
      const client = await openService(input);
      const speech = isLive
        ? await synthesizeLive(client, manner, call)
        : await synthesize(client, { ...manner, text: said }, call);
      await target.write(speech.wav);
      report(input, output, speech);
    } finally {
      await target.abandon();
    }
  });
}

const ENCODINGS = ["linear16", "mulaw", "alaw"] as const;

/** @throws {UsageError} if the encoding is unknown, or its frames cannot be joined */
function formatOf({ options }: CommandInput): SpokenFormat {
  const name = options.text("encoding");
  const encoding = ENCODINGS.find((known) => known === name);
  if (name !== null && encoding === undefined)
    throw new UsageError(`--encoding must be ${ENCODINGS.join(", ")}, received "${name}"`);
  const joined = ["stream", "live"].find((name) => options.isSet(name));
  if (joined !== undefined && (encoding ?? "linear16") !== "linear16")
    throw new UsageError(`--${joined} cannot be combined with --encoding mulaw or alaw`);
  return { encoding, sampleRateHz: options.number("sample-rate") ?? undefined };
}

async function synthesize(
  client: DauysClient,
  request: SpeechRequest,
  { input, format, onPart, signal }: SpeechCall,
): Promise<ReceivedSpeech> {
  const startedAtMs = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAtMs);
  let audioSeconds = 0;
  const parts = () => {
    const elapsed = `speaking, ${clock(elapsedMs())} so far`;
    return audioSeconds === 0 ? [elapsed] : [elapsed, `${audioSeconds.toFixed(1)} s of audio`];
  };
  return await withProgress(input, parts, async () => {
    if (!input.options.isSet("stream")) {
      const { wav, usage } = await client.speak(request, { ...format, signal });
      const firstAudioMs = elapsedMs();
      await onPart(wav);
      return { wav, firstAudioMs, usage };
    }
    const pcm: Uint8Array[] = [];
    let firstAudioMs = Number.NaN;
    let rateHz = 0;
    let usage: SpeechUsage | null = null;
    for await (const frame of client.speakStream(request, { ...format, signal, frames: "chunks" })) {
      usage = frame.usage;
      const samples = pcmOf(frame.wav);
      if (frame.sequence === 0) {
        firstAudioMs = elapsedMs();
        rateHz = frame.sampleRateHz;
        await onPart(wavHeader(rateHz, null));
      }
      pcm.push(samples);
      audioSeconds += frame.durationSeconds;
      await onPart(samples);
    }
    const bytes = pcm.reduce((sum, { length }) => sum + length, 0);
    return { wav: Buffer.concat([wavHeader(rateHz, bytes), ...pcm]), firstAudioMs, usage };
  });
}

function report(input: CommandInput, output: string, { firstAudioMs, usage }: ReceivedSpeech): void {
  const characters = usage?.characters ?? null;
  const credits = usage?.creditsCharged ?? null;
  if (input.options.isSet("json"))
    printLine(JSON.stringify({ file: output, characters, credits, first_audio_ms: firstAudioMs }));
  else if (output !== "-")
    printRemark(input, `${output}: ${characters ?? "?"} characters, first audio after ${firstAudioMs} ms`);
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
