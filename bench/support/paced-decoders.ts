import { setTimeout as sleep } from "node:timers/promises";
import type { LiveEngine } from "../../actors/live/engine.js";
import type { PeerRecognizer, PeerStream } from "./peer-recognizer.js";
import { SAMPLE_RATE_HZ, type SpokenStream } from "./spoken-stream.js";

const FRAME_SAMPLES = 640;

/**
 * Cost of one decoder's sessions: CPU time of this process, and time from the end of each sentence to its
 * text.
 */
export interface DecoderRun {
  readonly sessions: number;
  readonly finalLatenciesMs: readonly number[];
  readonly missedFinals: number;
  readonly audioSeconds: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** Texts of the first session. */
  readonly texts: readonly string[];
}

interface HeardText {
  readonly atMs: number;
  readonly text: string;
}

/** Feeds the stream to this many sessions of our live engine, in real time or unpaced. */
export function runEngine(
  engine: LiveEngine,
  stream: SpokenStream,
  options: { readonly sessions: number; readonly isPaced: boolean },
): Promise<DecoderRun> {
  return measured(stream, options, async (startsAtMs) => {
    const audio = startsAtMs.map((startMs) => {
      const heard: HeardText[] = [];
      let finished = () => {};
      const isFinished = new Promise<void>((resolve) => {
        finished = resolve;
      });
      const live = engine.open(
        { modelId: "svc-kk-ru-v2", endOfUtteranceMs: 200, wantsPartials: true, hotWords: [] },
        (event) => {
          if (event.type === "final") heard.push({ atMs: performance.now(), text: event.text });
          if (event.type === "finished" || event.type === "failed") finished();
        },
      );
      return { startMs, heard, live, isFinished };
    });
    await feed(stream, startsAtMs, options.isPaced, (index, samples) => {
      audio[index]!.live.write(samples);
    });
    for (const { live } of audio) live.finish();
    await Promise.all(audio.map(({ isFinished }) => isFinished));
    for (const { live } of audio) live.release();
    return audio.map(({ heard }) => heard);
  });
}

/** Feeds the peer in the same way: one thread accepts due audio and decodes all ready streams as a batch. */
export function runPeer(
  peer: PeerRecognizer,
  stream: SpokenStream,
  options: { readonly sessions: number; readonly isPaced: boolean },
): Promise<DecoderRun> {
  return measured(stream, options, async (startsAtMs) => {
    const streams = startsAtMs.map(() => peer.createStream());
    const heard = startsAtMs.map((): HeardText[] => []);
    const decode = () => {
      for (;;) {
        const ready: PeerStream[] = [];
        for (const candidate of streams) if (peer.isReady(candidate)) ready.push(candidate);
        if (ready.length === 0) return;
        peer.decodeStreams(ready);
        for (const [index, candidate] of streams.entries()) {
          if (!peer.isEndpoint(candidate)) continue;
          const { text } = peer.getResult(candidate);
          if (text !== "")
            heard[index]!.push({ atMs: performance.now(), text: text.replaceAll("▁", " ").trim() });
          peer.reset(candidate);
        }
      }
    };
    await feed(
      stream,
      startsAtMs,
      options.isPaced,
      (index, samples) => {
        const floats = Float32Array.from(samples, (sample) => sample / 32_768);
        streams[index]!.acceptWaveform({ samples: floats, sampleRate: SAMPLE_RATE_HZ });
      },
      decode,
    );
    return heard;
  });
}

/** Gives every session its frames when they are due (unpaced: always), then lets the decoder work. */
async function feed(
  { pcm }: SpokenStream,
  startsAtMs: readonly number[],
  isPaced: boolean,
  write: (index: number, samples: Int16Array) => void,
  decode: () => void = () => {},
): Promise<void> {
  const sent = startsAtMs.map(() => 0);
  let left = startsAtMs.length;
  while (left > 0) {
    const nowMs = performance.now();
    for (let index = 0; index < sent.length; index++) {
      const from = sent[index]!;
      if (from >= pcm.length) continue;
      const end = Math.min(pcm.length, from + FRAME_SAMPLES);
      if (isPaced && startsAtMs[index]! + (end / SAMPLE_RATE_HZ) * 1_000 > nowMs) continue;
      write(index, pcm.subarray(from, end));
      sent[index] = end;
      if (end === pcm.length) left--;
    }
    decode();
    // Unpaced, a thousand frames per turn would fill backlogs faster than any decoder could empty them.
    await (isPaced ? sleep(1) : new Promise((resolve) => setImmediate(resolve)));
  }
}

async function measured(
  stream: SpokenStream,
  options: { readonly sessions: number; readonly isPaced: boolean },
  run: (startsAtMs: readonly number[]) => Promise<readonly (readonly HeardText[])[]>,
): Promise<DecoderRun> {
  const { sessions } = options;
  const cpuBefore = process.cpuUsage();
  const beganMs = performance.now();
  // Spread the starts, because people do not all start speaking at the same moment.
  const startsAtMs = Array.from({ length: sessions }, (_, index) => beganMs + (index * 2_000) / sessions);
  const heard = await run(startsAtMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  const wallSeconds = (performance.now() - beganMs) / 1_000;
  const latencies = heard.flatMap((texts, index) =>
    stream.utterances.map(({ endSample }, nth) => {
      const endMs = startsAtMs[index]! + (endSample / SAMPLE_RATE_HZ) * 1_000;
      const next = stream.utterances[nth + 1];
      const untilMs =
        next === undefined
          ? Number.POSITIVE_INFINITY
          : startsAtMs[index]! + (next.onsetSample / SAMPLE_RATE_HZ) * 1_000;
      const text = texts.find(({ atMs }) => atMs > endMs && atMs < untilMs);
      return text === undefined ? null : text.atMs - endMs;
    }),
  );
  return {
    sessions,
    finalLatenciesMs: latencies.filter((latency) => latency !== null),
    missedFinals: latencies.filter((latency) => latency === null).length,
    audioSeconds: (sessions * stream.pcm.length) / SAMPLE_RATE_HZ,
    cpuSeconds: (user + system) / 1e6,
    wallSeconds,
    texts: (heard[0] ?? []).map(({ text }) => text),
  };
}
