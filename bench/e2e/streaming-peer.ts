import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { doubledLogits, installPeer, PEER_PACKAGE, type PeerModule } from "../support/peer-recognizer.js";
import { recognizerIn } from "../support/recognizer.js";
import {
  bestPath,
  type PeerPath,
  REFERENCE_FILE,
  readStreamingReference,
  referencePcm,
} from "../support/streaming-reference.js";

const PACKAGES = "test/fixtures/adapters";
/** Digital silence after the audio, so that the peer reads all of it. */
const TAIL_SECONDS = 2;
/** T-one was trained with this silence before the audio; our engine reads it while loading. */
const T_ONE_LEAD_SECONDS = 0.3;

interface Streamed {
  readonly id: string;
  readonly config: (folder: string) => object;
  readonly rateHz: number;
  readonly leadSeconds: number;
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
  },
];

/**
 * `npm run bench -- streaming-peer`: sherpa-onnx and our engine on the tiny packages of streaming graphs,
 * with the same audio: tokens, their times and, where the peer reports them, their log-probs. Saves the
 * peer's results, so that the tests need no peer. A smoke run compares with the saved ones.
 */
export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const saved = smoke ? readStreamingReference().packages : {};
  const peer = smoke ? null : await installPeer();
  const packages: Record<string, PeerPath> = {};
  for (const streamed of STREAMED) {
    const { id } = streamed;
    const heard = peer === null ? saved[id]! : peerPath(peer, streamed);
    const ours = await ourPath(id);
    const count = ours.tokens.length;
    const isSame = ours.tokens.every((token, i) => token.trim() === heard.tokens[i]);
    const differences = heard.logProbs
      .slice(0, count)
      .map((logProb, i) => Math.abs(logProb - ours.logProbs[i]!));
    console.log(
      `${id}: ${count} tokens, ${isSame ? "the same" : "not the same"}; ` +
        (differences.length === 0
          ? "the peer reports no log-probs"
          : `log-probs differ by at most ${Math.max(...differences).toExponential(1)}`),
    );
    packages[id] = heard;
  }
  if (smoke) return;
  await writeFile(REFERENCE_FILE, `${JSON.stringify({ peer: PEER_PACKAGE, packages })}\n`);
  console.log(REFERENCE_FILE);
}

async function ourPath(id: string): Promise<PeerPath> {
  const { model } = await recognizerIn(join(PACKAGES, id));
  const { logProbs } = await model.decodeUtterance(referencePcm());
  const rowSeconds = model.outputFrameSamples / model.manifest.sampleRateHz;
  const path = bestPath(logProbs, { vocabulary: model.vocabulary, rowSeconds });
  await model.release();
  return path;
}

function peerPath({ OnlineRecognizer }: PeerModule, { id, config, rateHz, leadSeconds }: Streamed): PeerPath {
  const folder = join(PACKAGES, id);
  const recognizer = new OnlineRecognizer({
    featConfig: { sampleRate: rateHz, featureDim: 80 },
    modelConfig: {
      ...config(folder),
      ...{ tokens: join(folder, "tokens.txt"), numThreads: 1, provider: "cpu", debug: 0 },
    },
    enableEndpoint: false,
  });
  const stream = recognizer.createStream();
  const parts = [
    new Float32Array(leadSeconds * rateHz),
    rateHz === 8_000 ? eightKilohertz() : referencePcm(),
    new Float32Array(TAIL_SECONDS * rateHz),
  ];
  for (const samples of parts) stream.acceptWaveform({ samples, sampleRate: rateHz });
  while (recognizer.isReady(stream)) recognizer.decodeStreams([stream]);
  const { tokens, timestamps, ys_probs: logProbs } = recognizer.getResult(stream);
  const kept = [...tokens.keys()].filter((i) => timestamps[i]! >= leadSeconds);
  return {
    // In our format, without tokens that are not text.
    tokens: kept.map((i) => tokens[i]!.trim().replace(/^<.{1,20}>$/u, "")),
    seconds: kept.map((i) => Number((timestamps[i]! - leadSeconds).toFixed(3))),
    logProbs: logProbs.length === 0 ? [] : kept.map((i) => logProbs[i]!),
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
