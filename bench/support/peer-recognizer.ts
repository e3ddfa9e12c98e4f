import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";

/** Path of the repository, from `dist/bench/support`. */
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CACHE = join(ROOT, "bench/.cache/peer");
export const PEER_PACKAGE = "sherpa-onnx-node@1.13.8";

/** The part of the peer's stream interface that we use. */
export interface PeerStream {
  acceptWaveform(audio: { readonly samples: Float32Array; readonly sampleRate: number }): void;
}

/** The part of sherpa-onnx-node's streaming recogniser that is used here. */
export interface PeerRecognizer {
  createStream(): PeerStream;
  isReady(stream: PeerStream): boolean;
  decodeStreams(streams: readonly PeerStream[]): void;
  isEndpoint(stream: PeerStream): boolean;
  getResult(stream: PeerStream): PeerResult;
  reset(stream: PeerStream): void;
}

interface PeerResult {
  readonly text: string;
  readonly tokens: readonly string[];
  /** Seconds from the start of the audio. */
  readonly timestamps: readonly number[];
  /** Log-probs of a transducer's tokens, from logits that were divided by 2. */
  readonly ys_probs: readonly number[];
}

/** The part of its recogniser for whole utterances that is used here. */
export interface OfflinePeer {
  createStream(): PeerStream;
  decode(stream: PeerStream): void;
  getResult(stream: PeerStream): Omit<PeerResult, "ys_probs">;
}

/** The part of its speaker embeddings that is used here. */
interface PeerEmbeddings {
  createStream(): PeerStream & { inputFinished(): void };
  compute(stream: PeerStream): Float32Array;
}

export interface PeerModule {
  readonly OnlineRecognizer: new (config: object) => PeerRecognizer;
  readonly OfflineRecognizer: new (config: object) => OfflinePeer;
  readonly OfflineSpeakerDiarization: new (
    config: object,
  ) => {
    /** Returns turns in order of their start, in seconds. */
    process(samples: Float32Array): readonly SpeakerTurn[];
  };
  readonly SpeakerEmbeddingExtractor: new (config: object) => PeerEmbeddings;
}

/**
 * Installs the peer for the benches and wraps the shipped weights for it, once.
 * @throws an error with the missing requirement
 */
export async function preparePeer(modelFolder: string): Promise<(chunkFrames: number) => PeerRecognizer> {
  const { OnlineRecognizer } = await install(modelFolder, "export_nemo_ctc.py");
  return (chunkFrames) =>
    new OnlineRecognizer({
      featConfig: { sampleRate: 16_000, featureDim: 80 },
      modelConfig: {
        nemoCtc: { model: join(CACHE, `chunk${chunkFrames}.onnx`) },
        tokens: join(CACHE, "tokens.txt"),
        numThreads: 1,
        provider: "cpu",
      },
      enableEndpoint: true,
      rule1MinTrailingSilence: 2.4,
      // Use the same silence threshold as ours.
      rule2MinTrailingSilence: 0.2,
      rule3MinUtteranceLength: 30,
    });
}

/**
 * Creates the peer's recogniser for whole utterances with both halves of the shipped weights, one thread,
 * greedy.
 * @throws as `preparePeer`
 */
export async function prepareOfflinePeer(modelFolder: string): Promise<OfflinePeer> {
  const { OfflineRecognizer } = await install(modelFolder, "export_offline_ctc.py");
  return new OfflineRecognizer({
    featConfig: { sampleRate: 16_000, featureDim: 80 },
    modelConfig: {
      zipformerCtc: { model: join(CACHE, "offline.onnx") },
      tokens: join(CACHE, "tokens.txt"),
      numThreads: 1,
      provider: "cpu",
    },
  });
}

/** Installs the peer next to the benches, once. @throws an error with the missing requirement */
export async function installPeer(): Promise<PeerModule> {
  await mkdir(CACHE, { recursive: true });
  if (!existsSync(join(CACHE, "node_modules/sherpa-onnx-node"))) {
    requireRun("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", CACHE, PEER_PACKAGE]);
  }
  return createRequire(join(CACHE, "from-here.js"))("sherpa-onnx-node") as PeerModule;
}

async function install(modelFolder: string, script: string): Promise<PeerModule> {
  const peer = await installPeer();
  // Wrap the weights each time, because they may have changed.
  const path = join(ROOT, "bench/peer", script);
  requireRun("/usr/bin/python3", [path, "--model", modelFolder, "--out", CACHE]);
  return peer;
}

/** Writes a joiner whose log-probs the peer reports unchanged. @returns its path */
export function doubledLogits(joiner: string): string {
  const doubled = join(CACHE, "joiner.onnx");
  const script = join(ROOT, "bench/peer/double_logits.py");
  requireRun("/usr/bin/python3", [script, "--model", joiner, "--out", doubled]);
  return doubled;
}

function requireRun(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (status === 0) return;
  throw new Error(
    `Cannot prepare the peer: ${command} ${args[0]} failed; it requires npm and apt-get install python3-onnx python3-numpy`,
  );
}
