import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Hypotheses, TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";

/** Results of sherpa-onnx on the tiny packages of streaming graphs; see `npm run bench -- streaming-peer`. */
export const REFERENCE_FILE = fileURLToPath(
  new URL("../../../test/fixtures/adapters/streaming-reference.json", import.meta.url),
);

export interface PeerPath {
  /** Symbols in order. */
  readonly tokens: readonly string[];
  /** Start of each token's row, in seconds of the audio. */
  readonly seconds: readonly number[];
  /** Log-prob of each token; empty if the peer does not report it. */
  readonly logProbs: readonly number[];
}

export interface StreamingReference {
  readonly peer: string;
  readonly packages: Readonly<Record<string, PeerPath>>;
  /** Results with its beam search, `modified_beam_search`; without log-probs. */
  readonly beams: Readonly<Record<string, PeerPath>>;
}

export function readStreamingReference(): StreamingReference {
  return JSON.parse(readFileSync(REFERENCE_FILE, "utf8")) as StreamingReference;
}

const SECONDS = 12;
const RATE_HZ = 16_000;

/**
 * Generates twelve seconds of constantly changing audio: sweeps of varying loudness, and noise; 16 bits, -1
 * to 1.
 */
export function referencePcm(): Float32Array {
  const random = uniformRandom(35);
  return Float32Array.from({ length: SECONDS * RATE_HZ }, (_, i) => {
    const second = i / RATE_HZ;
    const loudness = 0.05 + 0.4 * Math.abs(Math.sin(1.7 * second)) ** 2;
    const sweep = Math.sin(i * (0.08 + 0.06 * Math.sin(3.1 * second)) + 2 * Math.sin(11 * second));
    return Math.round(32_768 * (loudness * sweep + 0.04 * (random() - 0.5))) / 32_768;
  });
}

/** Runs the search of finals without hot words. */
export async function searchedAside(
  search: TokenSearch,
  logProbs: Float32Array,
  frames: number,
): Promise<Hypotheses> {
  return search.searchAside?.(logProbs, frames, null, null) ?? search.search(logProbs, frames, null);
}

/**
 * Returns the path of the best outputs in CTC rows: tokens, the seconds of their rows, and their log-probs.
 */
export function bestPath(
  rows: Float32Array,
  { vocabulary, rowSeconds }: { readonly vocabulary: readonly string[]; readonly rowSeconds: number },
): PeerPath {
  const width = vocabulary.length;
  const path = { tokens: [] as string[], seconds: [] as number[], logProbs: [] as number[] };
  let last = 0;
  for (let row = 0; row * width < rows.length; row++) {
    let best = 0;
    for (let i = 1; i < width; i++) if (rows[row * width + i]! > rows[row * width + best]!) best = i;
    if (best !== 0 && best !== last) {
      path.tokens.push(vocabulary[best]!);
      path.seconds.push(row * rowSeconds);
      path.logProbs.push(rows[row * width + best]!);
    }
    last = best;
  }
  return path;
}
