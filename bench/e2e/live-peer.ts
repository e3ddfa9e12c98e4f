import { fileURLToPath } from "node:url";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type DecoderRun, runEngine, runPeer } from "../support/paced-decoders.js";
import { PEER_PACKAGE, preparePeer } from "../support/peer-recognizer.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { recognizerEngine } from "../support/recognizer-engine.js";
import { startServiceProcess } from "../support/service-process.js";
import { SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const REACH_P99_MS = 300;
const COUNTS = [1, 64, 96, 128, 192];
/** Numbers of 40 ms frames per step of the peer; its export fixes its latency and throughput. */
const PEER_CHUNKS = [1, 2, 4];

interface Contestant {
  readonly name: string;
  run(stream: SpokenStream, options: { sessions: number; isPaced: boolean }): Promise<DecoderRun>;
}

/**
 * `npm run bench -- live-peer [8 32 ...]`: sherpa-onnx compared with our live engine: the same weights, one
 * decoding thread each, the same streams in one process, alternating. Ours also runs the second pass and the
 * beam search. One load takes a minute and a half; the usual five loads and the saturated runs take eight
 * minutes.
 */
export async function run(options: BenchOptions): Promise<void> {
  const given = options.args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  const counts = options.smoke ? [1] : given.length > 0 ? given : COUNTS;
  const service = await startServiceProcess();
  const stream = await speakStream(service, options.smoke ? SENTENCES.slice(0, 1) : SENTENCES).finally(() =>
    service.stop(),
  );
  const makePeer = await preparePeer(MODEL);
  const engine = await recognizerEngine({ modelFolder: MODEL });
  await engine.start();
  try {
    const contestants: Contestant[] = [
      { name: "dauys", run: (spoken, how) => runEngine(engine, spoken, how) },
      ...(options.smoke ? [1] : PEER_CHUNKS).map((chunk): Contestant => {
        const peer = makePeer(chunk);
        return {
          name: `sherpa-onnx, ${chunk * 40} ms a step`,
          run: (spoken, how) => runPeer(peer, spoken, how),
        };
      }),
    ];
    const paced = await risingLoad(contestants, stream, counts);
    const saturated: (DecoderRun & { readonly name: string })[] = [];
    for (const { name, run: runOne } of contestants) {
      const figure = {
        name,
        ...(await runOne(stream, { sessions: options.smoke ? 2 : 64, isPaced: false })),
      };
      saturated.push(figure);
      console.log(`${name}: ${streamsPerCore(figure).toFixed(1)} streams per core, unpaced`);
    }
    const summary = contestants.map(({ name }) => summarize(name, paced, saturated));
    const ratios = ratiosOf(summary);
    console.log(JSON.stringify(ratios));
    if (options.smoke) return;
    await saveResult("live-peer", {
      parameters: { peer: PEER_PACKAGE, eouMs: 200, sentences: SENTENCES, reachP99Ms: REACH_P99_MS },
      ratios,
      summary,
      paced,
      saturated,
    });
  } finally {
    await engine.stop();
  }
}

/**
 * Runs each contestant with rising load until it falls behind; they alternate, so that other load affects
 * both.
 */
async function risingLoad(
  contestants: readonly Contestant[],
  stream: SpokenStream,
  counts: readonly number[],
): Promise<(DecoderRun & { readonly name: string })[]> {
  const figures: (DecoderRun & { readonly name: string })[] = [];
  const isOut = new Set<string>();
  for (const sessions of counts) {
    for (const { name, run } of contestants) {
      if (isOut.has(name)) continue;
      const figure = { name, ...(await run(stream, { sessions, isPaced: true })) };
      figures.push(figure);
      if (!keepsUp(figure)) isOut.add(name);
      const latency = showPercentiles("end of speech to final", percentiles(figure.finalLatenciesMs));
      const perCore = streamsPerCore(figure).toFixed(1);
      console.log(
        `${String(sessions).padStart(4)} ${name}: ${latency}, missed ${figure.missedFinals}, ${perCore} per core`,
      );
    }
  }
  return figures;
}

function keepsUp(run: DecoderRun): boolean {
  const latency = percentiles(run.finalLatenciesMs);
  return (
    latency !== null &&
    latency.p99 <= 2 * REACH_P99_MS &&
    run.missedFinals <= run.finalLatenciesMs.length / 20
  );
}

function streamsPerCore(run: DecoderRun): number {
  return run.audioSeconds / run.cpuSeconds;
}

function summarize(
  name: string,
  paced: readonly (DecoderRun & { readonly name: string })[],
  saturated: readonly (DecoderRun & { readonly name: string })[],
) {
  const own = paced.filter((figure) => figure.name === name);
  const within = own.filter(
    ({ finalLatenciesMs }) => (percentiles(finalLatenciesMs)?.p99 ?? 1e9) <= REACH_P99_MS,
  );
  const full = saturated.find((figure) => figure.name === name);
  return {
    name,
    latencies: own.map(({ sessions, finalLatenciesMs, missedFinals }) => {
      return { sessions, finalLatencyMs: percentiles(finalLatenciesMs), missedFinals };
    }),
    sessionsWithinReach: within.at(-1)?.sessions ?? 0,
    pacedStreamsPerCore: Math.max(...own.map(streamsPerCore)),
    saturatedStreamsPerCore: full === undefined ? null : streamsPerCore(full),
    texts: full?.texts ?? [],
  };
}

/** Divides our results by those of each configuration of the peer. */
function ratiosOf(summary: readonly ReturnType<typeof summarize>[]) {
  const [ours, ...peers] = summary;
  if (ours === undefined) return [];
  return peers.map((peer) => ({
    peer: peer.name,
    sessionsWithinReach: ours.sessionsWithinReach / Math.max(peer.sessionsWithinReach, 1),
    pacedStreamsPerCore: ours.pacedStreamsPerCore / peer.pacedStreamsPerCore,
    saturatedStreamsPerCore: (ours.saturatedStreamsPerCore ?? 0) / (peer.saturatedStreamsPerCore ?? 1),
    /** Ratio at the first load; below 1, ours is faster. */
    p50: (ours.latencies[0]?.finalLatencyMs?.p50 ?? 0) / (peer.latencies[0]?.finalLatencyMs?.p50 ?? 1),
  }));
}
