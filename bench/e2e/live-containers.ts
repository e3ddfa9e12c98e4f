import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { littleEndianBytes } from "../../core/domain/audio/pcm.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { createLog } from "../../core/observe/log.js";
import { LiveDecoders } from "../../src/input/media/live-decoders.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

const PACKET_MS = 20;
const PACKET_SAMPLES = 16 * PACKET_MS;
const ROUNDS = 5;
const FORMS = ["pcm", "webm", "ogg"] as const;
const STARTS = 20;
const CAPTURE = Buffer.from("OggS");
const CLUSTER = Buffer.from("1f43b675", "hex");

/** The same audio in messages of 20 ms, by form. */
type Messages = Readonly<Record<(typeof FORMS)[number], readonly Uint8Array[]>>;

/**
 * `npm run bench -- live-containers`: how much later finals of WebM and Ogg arrive than those of samples, in
 * real time and at the same time; and how long a decoder takes to start.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const service = await startServiceProcess({ LIVE_PER_ORG: "100" });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const stream = await speakStream(service, smoke ? SENTENCES.slice(0, 1) : SENTENCES);
    const messages = await messagesOf(stream.pcm);
    const delays: Record<keyof Messages, number[]> = { pcm: [], webm: [], ogg: [] };
    for (let round = 0; round < (smoke ? 1 : ROUNDS); round++) {
      // Run all at the same time, so that the same load delays each of them.
      const heard = FORMS.map(async (form) =>
        delays[form].push(...(await finalDelays(service, stream, messages[form]))),
      );
      await Promise.all(heard);
    }
    const starts = await startTimes(messages.webm, smoke ? 2 : STARTS);
    const rows = FORMS.map((form) => ({
      form,
      finals: delays[form].length,
      delayMs: percentiles(delays[form]),
    }));
    const firstSamplesMs = percentiles(starts);
    for (const { form, delayMs } of rows) console.log(showPercentiles(`finals of ${form}`, delayMs));
    console.log(showPercentiles("first samples after the first bytes", firstSamplesMs));
    const parameters = { packetMs: PACKET_MS, rounds: ROUNDS, starts: STARTS, sentences: SENTENCES };
    if (!smoke) await saveResult("live-containers", { parameters, rows, firstSamplesMs, delaysMs: delays });
  } finally {
    await service.stop();
  }
}

/** Encodes audio with ffmpeg, one packet of 20 ms per message. */
async function messagesOf(pcm: Int16Array): Promise<Messages> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-containers-"));
  try {
    const [wav, ogg, webm] = ["a.wav", "a.ogg", "a.webm"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(wav, writeWav(pcm, 16_000));
    const opus = ["-c:a", "libopus", "-b:a", "32k", "-application", "voip"];
    const outputs = [...opus, "-page_duration", "20000", ogg, ...opus, "-f", "webm", "-live", "1", webm];
    execFileSync("ffmpeg", ["-nostdin", "-v", "error", "-i", wav, ...outputs]);
    const pages = splitAt(await readFile(ogg), CAPTURE);
    const head = await readFile(webm).then((file) => file.subarray(0, file.indexOf(CLUSTER)));
    const packets = pages.slice(2).map((page) => page.subarray(27 + page[26]!));
    const [first, ...blocks] = packets.map(simpleBlock);
    const cluster = Buffer.concat([CLUSTER, Buffer.of(0xff)]);
    return {
      pcm: Array.from({ length: Math.ceil(pcm.length / PACKET_SAMPLES) }, (_, index) =>
        littleEndianBytes(pcm.slice(index * PACKET_SAMPLES, (index + 1) * PACKET_SAMPLES)),
      ),
      webm: [Buffer.concat([head, cluster, first!]), ...blocks],
      ogg: [Buffer.concat(pages.slice(0, 3)), ...pages.slice(3)],
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function splitAt(file: Buffer, mark: Buffer): Buffer[] {
  const starts: number[] = [];
  for (let at = file.indexOf(mark); at >= 0; at = file.indexOf(mark, at + 1)) starts.push(at);
  return starts.map((start, index) => file.subarray(start, starts[index + 1]));
}

/** Returns a block of the first track; live decoders do not read its time. */
function simpleBlock(packet: Uint8Array): Buffer {
  const size = packet.length + 4;
  return Buffer.concat([Buffer.of(0xa3, 0x40 | (size >> 8), size & 0xff, 0x81, 0, 0, 0x80), packet]);
}

/** Sends messages in real time and returns how long after the end of each utterance its final arrives. */
async function finalDelays(
  { url, key }: ServiceProcess,
  { utterances }: SpokenStream,
  messages: readonly Uint8Array[],
): Promise<readonly number[]> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/stream?partials=false`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const arrivals: { readonly startSample: number; readonly atMs: number }[] = [];
  let isReady = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  socket.on("message", (data) => {
    const { type, start } = JSON.parse(String(data)) as { readonly type: string; readonly start: number };
    if (type === "ready") isReady();
    if (type === "final") arrivals.push({ startSample: start * 16_000, atMs: performance.now() });
  });
  const closed = once(socket, "close");
  await ready;
  const startedAtMs = performance.now();
  for (const [index, message] of messages.entries()) {
    const waitMs = startedAtMs + (index + 1) * PACKET_MS - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    socket.send(message);
  }
  socket.send('{"type":"close"}');
  await closed;
  return utterances.flatMap(({ endSample }) => {
    // A sentence with a pause has several finals; the last one starts before the sentence ends.
    const last = arrivals.findLast(({ startSample }) => startSample < endSample);
    return last === undefined ? [] : [last.atMs - startedAtMs - endSample / 16];
  });
}

/** Returns the milliseconds from the first bytes to the first samples, for decoders started one by one. */
async function startTimes([first = new Uint8Array(0)]: readonly Uint8Array[], count: number) {
  const decoders = new LiveDecoders({ limit: 2, log: createLog({ level: "silent" }) });
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startedAtMs = performance.now();
    await new Promise<void>((resolve, reject) => {
      const decoder = decoders.open("bench", "webm", { pcm: () => {}, failed: reject });
      decoder.push(first);
      decoder.mark(() => {
        decoder.close();
        resolve();
      });
    });
    times.push(performance.now() - startedAtMs);
    while (decoders.running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return times;
}
