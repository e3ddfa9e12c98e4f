import { WebSocket } from "ws";
import { littleEndianBytes, toFloat, toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import type { ServiceProcess } from "./service-process.js";
import { SAMPLE_RATE_HZ, type SpokenStream } from "./spoken-stream.js";

/** Size of a client's messages. */
export const MESSAGE_MS = 40;
const REALTIME_HZ = 24_000;

type Json = Readonly<Record<string, unknown>>;

/** A protocol for live sessions, with the options with which a session is opened. */
export interface LiveWire {
  readonly name: string;
  /** Path and query of the socket. */
  readonly path: string;
  readonly sampleRateHz: number;
  /** Our own wire that ends utterances by the same rule; null for that wire itself. */
  readonly reference: string | null;
  /** Message sent when the socket is open. */
  readonly opening: string | null;
  /** Message sent after the audio; null if the client just closes. */
  readonly closing: string | null;
  isReady(message: Json): boolean;
  audio(pcm: Uint8Array): Uint8Array | string;
  /** Returns the text of a final; null for other messages. */
  finalText(message: Json): string | null;
}

const STREAM = {
  sampleRateHz: SAMPLE_RATE_HZ,
  opening: null,
  reference: null,
  closing: '{"type":"close"}',
  isReady: ({ type }: Json) => type === "ready",
  audio: (pcm: Uint8Array) => pcm,
  finalText: ({ type, text }: Json) => (type === "final" ? String(text) : null),
};
const FIXED = "/v1/stream";
const ADAPTIVE = "/v1/stream, adaptive, 350 ms";

interface ListenResults {
  readonly channel: { readonly alternatives: readonly { readonly transcript: string }[] };
}

/** Every live protocol, next to our own with the same rule for the end of an utterance. */
export const LIVE_WIRES: readonly LiveWire[] = [
  { ...STREAM, name: FIXED, path: "/v1/stream?eou_ms=200" },
  {
    ...STREAM,
    name: "/v1/listen",
    reference: FIXED,
    path: `/v1/listen?encoding=linear16&sample_rate=${SAMPLE_RATE_HZ}&endpointing=200&interim_results=true`,
    closing: '{"type":"CloseStream"}',
    // Deepgram's protocol has no message for readiness.
    isReady: () => true,
    finalText: (message) =>
      message["type"] === "Results" && message["is_final"] === true
        ? (message as unknown as ListenResults).channel.alternatives[0]!.transcript
        : null,
  },
  {
    ...STREAM,
    name: "/v1/realtime",
    reference: FIXED,
    path: "/v1/realtime?intent=transcription",
    sampleRateHz: REALTIME_HZ,
    opening: JSON.stringify({
      type: "session.update",
      session: {
        type: "transcription",
        audio: {
          input: {
            format: { type: "audio/pcm", rate: REALTIME_HZ },
            turn_detection: { type: "server_vad", silence_duration_ms: 200 },
          },
        },
      },
    }),
    closing: null,
    isReady: ({ type }) => type === "session.updated",
    audio: (pcm) =>
      JSON.stringify({ type: "input_audio_buffer.append", audio: Buffer.from(pcm).toString("base64") }),
    finalText: ({ type, transcript }) =>
      String(type).endsWith("transcription.completed") ? String(transcript) : null,
  },
  { ...STREAM, name: ADAPTIVE, path: "/v1/stream?eou_ms=350&endpointing=adaptive" },
  {
    ...STREAM,
    name: "/v2/listen",
    reference: ADAPTIVE,
    // The threshold is half of 700 ms.
    path: `/v2/listen?encoding=linear16&sample_rate=${SAMPLE_RATE_HZ}&eot_threshold=0.5`,
    closing: '{"type":"CloseStream"}',
    isReady: ({ type }) => type === "Connected",
    finalText: ({ event, transcript }) => (event === "EndOfTurn" ? String(transcript) : null),
  },
];

/** Time from the end of each utterance to its final, in milliseconds; null for one without a final. */
export type Delays = readonly (number | null)[];

/** Speaks a stream over a wire, like a microphone, and times its finals. */
export async function delaysOver(
  wire: LiveWire,
  { url, key }: Pick<ServiceProcess, "url" | "key">,
  stream: SpokenStream,
): Promise<Delays> {
  const socket = new WebSocket(url.replace("http", "ws") + wire.path, {
    headers: { Authorization: `Bearer ${key}` },
  });
  const finalsAtMs: number[] = [];
  const isOpen = new Promise<void>((resolve, reject) => {
    socket.once("open", () => {
      if (wire.opening !== null) socket.send(wire.opening);
      if (wire.isReady({})) resolve();
    });
    socket.on("message", (data) => {
      const atMs = performance.now();
      const message = JSON.parse(String(data)) as Json;
      if (/^error$/i.test(String(message["type"]))) reject(new Error(`${wire.name}: ${data}`));
      if (wire.isReady(message)) resolve();
      // A pause may end with a final without words.
      if (wire.finalText(message)) finalsAtMs.push(atMs);
    });
    socket.once("error", reject);
  });
  await isOpen;
  const startedAtMs = await speakPaced(socket, wire, stream.pcm);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  if (wire.closing === null) socket.close();
  else socket.send(wire.closing);
  await closed;
  return timed(finalsAtMs, startedAtMs, stream);
}

/** @returns when the first sample was spoken */
async function speakPaced(socket: WebSocket, wire: LiveWire, pcm: Int16Array): Promise<number> {
  const audio = atRate(pcm, wire.sampleRateHz);
  const messageSamples = (wire.sampleRateHz * MESSAGE_MS) / 1_000;
  const startedAtMs = performance.now();
  for (let sent = 0; sent < audio.length; ) {
    const part = audio.subarray(sent, sent + messageSamples);
    sent += part.length;
    // Send a message once its last sample has been spoken.
    await sleepUntil(startedAtMs + (1_000 * sent) / wire.sampleRateHz);
    socket.send(wire.audio(littleEndianBytes(part)));
  }
  return startedAtMs;
}

/** Resampled streams, which every session of a wire shares. */
const resampled = new WeakMap<Int16Array, Map<number, Int16Array>>();

function atRate(pcm: Int16Array, rateHz: number): Int16Array {
  if (rateHz === SAMPLE_RATE_HZ) return pcm;
  const known = resampled.get(pcm) ?? new Map<number, Int16Array>();
  resampled.set(pcm, known);
  const found =
    known.get(rateHz) ?? toInt16(resample(toFloat(pcm), { fromHz: SAMPLE_RATE_HZ, toHz: rateHz }));
  known.set(rateHz, found);
  return found;
}

/** The final of an utterance is the last one that arrives before the next utterance. */
function timed(finalsAtMs: readonly number[], startedAtMs: number, { utterances }: SpokenStream): Delays {
  const wallOf = (sample: number) => startedAtMs + (1_000 * sample) / SAMPLE_RATE_HZ;
  return utterances.map(({ endSample }, index) => {
    const endMs = wallOf(endSample);
    const next = utterances[index + 1];
    const untilMs = next === undefined ? Number.POSITIVE_INFINITY : wallOf(next.onsetSample);
    const atMs = finalsAtMs.findLast((finalMs) => finalMs > endMs && finalMs < untilMs);
    return atMs === undefined ? null : atMs - endMs;
  });
}

function sleepUntil(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now();
  return waitMs <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, waitMs));
}
