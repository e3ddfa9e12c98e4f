import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import type { BenchOptions } from "../bench-options.js";
import { doubledLogits, installPeer, PEER_PACKAGE, type PeerModule } from "../support/peer-recognizer.js";
import { recognizerIn } from "../support/recognizer.js";
import {
  bestPath,
  type PeerPath,
  REFERENCE_FILE,
  readStreamingReference,
  referencePcm,
  type StreamingReference,
  searchedAside,
} from "../support/streaming-reference.js";

const PACKAGES = "test/fixtures/adapters";
/** Digital silence after the audio, so that the peer reads all of it. */
const TAIL_SECONDS = 2;
/** Silence for a search that may still change its text: the peer reads as many chunks as we do. */
const BEAM_TAIL_SECONDS = 1.2;
/** Silence before the audio with which T-one was trained; our engine reads it while loading. */
const T_ONE_LEAD_SECONDS = 0.3;

interface Streamed {
  readonly id: string;
  readonly config: (folder: string) => object;
  readonly rateHz: number;
  readonly leadSeconds: number;
  /** Options of the peer's beam search, to compare it as well. */
  readonly beam?: (folder: string) => object;
}

const STREAMED: readonly Streamed[] = [
  {
    id: "tiny-t-one-ctc",
    config: (folder) => ({ toneCtc: { model: join(folder, "model.onnx") } }),
    rateHz: 8_000,
    leadSeconds: T_ONE_LEAD_SECONDS,
  },
  {
    id: "tiny-zipformer2-ctc",
    config: (folder) => ({ zipformer2Ctc: { model: join(folder, "model.onnx") } }),
    rateHz: 16_000,
    leadSeconds: 0,
  },
  {
    id: "tiny-zipformer2-transducer",
    config: (folder) => ({
      transducer: {
        encoder: join(folder, "encoder.onnx"),
        decoder: join(folder, "decoder.onnx"),
        joiner: doubledLogits(join(folder, "joiner.onnx")),
      },
    }),
    rateHz: 16_000,
    leadSeconds: 0,
    beam: (folder) => ({
      transducer: {
        encoder: join(folder, "encoder.onnx"),
        decoder: join(folder, "decoder.onnx"),
        joiner: join(folder, "joiner.onnx"),
      },
    }),
  },
];

/** Transducers that read whole utterances. */
const WHOLE = [
  { id: "tiny-zipformer-transducer", modelType: "transducer", hasBeam: true },
  { id: "tiny-nemo-tdt", modelType: "nemo_transducer", hasBeam: false },
] as const;

/**
 * `npm run bench -- streaming-peer`: sherpa-onnx and our engine on the tiny packages of streaming graphs,
 * with the same audio: tokens, their times and, where the peer reports them, their log-probs; for transducers
 * also with the beam search of both. Saves the peer's results, so that the tests need no peer. A smoke run
 * compares the results with the saved ones.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const saved: Pick<StreamingReference, "packages" | "beams"> = smoke
    ? readStreamingReference()
    : { packages: {}, beams: {} };
  const peer = smoke ? null : await installPeer();
  const packages: Record<string, PeerPath> = {};
  const beams: Record<string, PeerPath> = {};
  for (const streamed of STREAMED) {
    const { id, beam } = streamed;
    const heard = peer === null ? saved.packages[id]! : peerPath(peer, streamed);
    const { greedy, searched } = await ourPaths(id);
    report(id, greedy, heard);
    packages[id] = heard;
    if (beam === undefined) continue;
    const found = peer === null ? saved.beams[id]! : peerBeam(peer, { ...streamed, config: beam });
    report(`${id}, beam search`, searched, found);
    beams[id] = found;
  }
  for (const { id, modelType, hasBeam } of WHOLE) {
    const heard = (decodingMethod: string) => wholePath(peer!, { id, modelType, decodingMethod });
    const { greedy, searched } = await ourPaths(id);
    packages[id] = peer === null ? saved.packages[id]! : heard("greedy_search");
    report(id, greedy, packages[id]);
    if (!hasBeam) continue;
    beams[id] = peer === null ? saved.beams[id]! : heard("modified_beam_search");
    report(`${id}, beam search`, searched, beams[id]);
  }
  if (smoke) return;
  await writeFile(REFERENCE_FILE, `${JSON.stringify({ peer: PEER_PACKAGE, packages, beams })}\n`);
  console.log(REFERENCE_FILE);
}

function report(name: string, ours: PeerPath, heard: PeerPath): void {
  const count = ours.tokens.length;
  const isSame = ours.tokens.every((token, i) => token.trim() === heard.tokens[i]);
  const differences = heard.logProbs
    .slice(0, count)
    .map((logProb, i) => Math.abs(logProb - ours.logProbs[i]!));
  console.log(
    `${name}: ${count} tokens, ${isSame ? "the same" : "not the same"}; ` +
      (differences.length === 0
        ? "the peer reports no log-probs"
        : `log-probs differ by at most ${Math.max(...differences).toExponential(1)}`),
  );
}

/** Returns the paths of our greedy search, and of the search for finals. */
async function ourPaths(id: string): Promise<{ readonly greedy: PeerPath; readonly searched: PeerPath }> {
  const { model, utterances } = await recognizerIn(join(PACKAGES, id));
  const { logProbs, frames } = await model.decodeUtterance(referencePcm());
  const [{ rows = logProbs }] = await searchedAside(utterances.tokenSearch, logProbs, frames);
  const rowSeconds = model.outputFrameSamples / model.manifest.sampleRateHz;
  const [greedy, searched] = [logProbs, rows].map((path) =>
    bestPath(path, { vocabulary: model.vocabulary, rowSeconds }),
  );
  await model.release();
  return { greedy: greedy!, searched: searched! };
}

function peerBeam(peer: PeerModule, streamed: Streamed): PeerPath {
  return peerPath(peer, streamed, { decodingMethod: "modified_beam_search" }, BEAM_TAIL_SECONDS);
}

/** Returns the peer's path through the whole audio. */
function wholePath(
  { OfflineRecognizer }: PeerModule,
  options: { readonly id: string; readonly modelType: string; readonly decodingMethod: string },
): PeerPath {
  const folder = join(PACKAGES, options.id);
  const file = (name: string) => join(folder, `${name}.onnx`);
  const recognizer = new OfflineRecognizer({
    featConfig: { sampleRate: 16_000, featureDim: 80 },
    modelConfig: {
      transducer: { encoder: file("encoder"), decoder: file("decoder"), joiner: file("joiner") },
      modelType: options.modelType,
      ...{ tokens: join(folder, "tokens.txt"), numThreads: 1, provider: "cpu", debug: 0 },
    },
    decodingMethod: options.decodingMethod,
  });
  const stream = recognizer.createStream();
  stream.acceptWaveform({ samples: referencePcm(), sampleRate: 16_000 });
  recognizer.decode(stream);
  const { tokens, timestamps } = recognizer.getResult(stream);
  return {
    tokens: tokens.map((token) => token.trim().replace(/^<.{1,20}>$/u, "")),
    seconds: timestamps.map((seconds) => Number(seconds.toFixed(3))),
    logProbs: [],
  };
}

function peerPath(
  { OnlineRecognizer }: PeerModule,
  { id, config, rateHz, leadSeconds }: Streamed,
  decoding: object = {},
  tailSeconds: number = TAIL_SECONDS,
): PeerPath {
  const folder = join(PACKAGES, id);
  const recognizer = new OnlineRecognizer({
    featConfig: { sampleRate: rateHz, featureDim: 80 },
    modelConfig: {
      ...config(folder),
      ...{ tokens: join(folder, "tokens.txt"), numThreads: 1, provider: "cpu", debug: 0 },
    },
    enableEndpoint: false,
    ...decoding,
  });
  const stream = recognizer.createStream();
  const parts = [
    new Float32Array(leadSeconds * rateHz),
    rateHz === 8_000 ? eightKilohertz() : referencePcm(),
    new Float32Array(tailSeconds * rateHz),
  ];
  for (const samples of parts) stream.acceptWaveform({ samples, sampleRate: rateHz });
  while (recognizer.isReady(stream)) recognizer.decodeStreams([stream]);
  const { tokens, timestamps, ys_probs: logProbs } = recognizer.getResult(stream);
  const kept = [...tokens.keys()].filter((i) => timestamps[i]! >= leadSeconds);
  return {
    // Convert to our format, without tokens that are not text.
    tokens: kept.map((i) => tokens[i]!.trim().replace(/^<.{1,20}>$/u, "")),
    seconds: kept.map((i) => Number((timestamps[i]! - leadSeconds).toFixed(3))),
    // The beam search uses the joiner's own logits, which the peer divides before it reports them.
    logProbs: logProbs.length === 0 || "decodingMethod" in decoding ? [] : kept.map((i) => logProbs[i]!),
  };
}

/**
 * The graph's samples: the peer multiplies by 32,767 and truncates, so adding half a step gives the same
 * integers.
 */
function eightKilohertz(): Float32Array {
  const samples = toInt16(resample(referencePcm(), { fromHz: 16_000, toHz: 8_000 }));
  return Float32Array.from(samples, (sample) => (sample + 0.5 * Math.sign(sample)) / 32_767);
}
