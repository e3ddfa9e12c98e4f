import { FRONT_ENDS } from "../../../core/domain/audio/front-ends.js";
import { LogMel } from "../../../core/domain/audio/log-mel.js";
import type { SampleSpan } from "../../../core/domain/audio/resample.js";
import type { TokenSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { ChunkFeatures } from "../chunk-features.js";
import { ChunkedCtc, type ChunkGraph, type ChunkInput } from "../chunked-ctc.js";
import { type GraphOptions, loadGraph, requireDimension, requireFixed } from "../graph.js";
import type { Graph, GraphContract } from "../graph-interface.js";
import { brokenModel, fileNameOf, type ModelPackage } from "../package.js";
import { floatsOf, StreamCaches, type StreamState } from "../stream-caches.js";
import { readTokens } from "../tokens.js";
import type { CtcHead } from "../voiced-recognizer.js";
import { windowOf, ZIPFORMER_TAIL_SAMPLES, zipformerCaches } from "../zipformer2.js";
import type { TransducerManifest } from "./manifest.js";
import { ModifiedBeamSearch } from "./modified-beam-search.js";
import { SearchedRows } from "./searched-rows.js";
import { StatelessGraphs } from "./stateless-graphs.js";
import { ROWS_PER_FRAME, TransducerSearch } from "./transducer-search.js";

const ENCODER = {
  file: "encoder",
  inputs: ["x", "cached_key_0", "embed_states", "processed_lens"],
  outputs: ["encoder_out", "new_cached_key_0", "new_embed_states", "new_processed_lens"],
} as const satisfies GraphContract;
/** Number of feature frames by which a window exceeds a chunk: `pad_length` of the export. */
const PAD_FRAMES = 13;
const SUBSAMPLING = 4;

/**
 * Loads a streaming zipformer2 transducer with a stateless decoder, exported by icefall: the encoder as in
 * `zipformer2-ctc`, with encoder_out f32 [N, chunk / 4, D]; y int64 [N, context], decoder_out f32 [N, D];
 * encoder_out, decoder_out f32 [N, D], logit f32 [N, outputs]. The graph sets the length of a chunk. The
 * greedy search provides partials, the beam search finals: at most one token per frame, as in sherpa-onnx.
 *
 * @see k2-fsa/icefall at 0b63b87, `egs/librispeech/ASR/zipformer/export-onnx-streaming.py`;
 *   k2-fsa/sherpa-onnx at 001b311, `sherpa-onnx/csrc/online-zipformer2-transducer-model.cc`
 * @throws {ServiceError} `MODEL_BROKEN` with the file and the tensor
 */
export async function loadZipformer2Transducer(
  model: ModelPackage<TransducerManifest>,
  options: GraphOptions,
): Promise<CtcHead> {
  const tokens = await readTokens(model);
  const encoder = await loadGraph(model, ENCODER, options);
  const graphs = await StatelessGraphs.load(model, tokens, options);
  const search = await TransducerSearch.start(graphs);
  const beam = new ModifiedBeamSearch(graphs, model.manifest.activePaths);
  const chunks = new TransducerGraph({ encoder, name: fileNameOf(model, "encoder"), graphs, search, beam });
  return new ChunkedCtc(chunks, tokens);
}

interface TransducerParts {
  readonly encoder: Graph;
  readonly name: string;
  readonly graphs: StatelessGraphs;
  readonly search: TransducerSearch;
  readonly beam: ModifiedBeamSearch;
}

class TransducerGraph implements ChunkGraph {
  readonly rowsPerChunk: number;
  readonly samplesPerRow: number;
  readonly tailSamples = ZIPFORMER_TAIL_SAMPLES;
  readonly #encoder: Graph;
  readonly #name: string;
  readonly #graphs: StatelessGraphs;
  readonly #search: TransducerSearch;
  readonly #searched: SearchedRows;
  readonly #caches: StreamCaches;
  readonly #features: ChunkFeatures;
  readonly #window: { readonly windowFrames: number; readonly melBins: number };
  readonly #framesPerChunk: number;

  constructor({ encoder, name, graphs, search, beam }: TransducerParts) {
    this.#encoder = encoder;
    this.#name = name;
    this.#graphs = graphs;
    this.#search = search;
    this.#searched = new SearchedRows(beam);
    this.#caches = new StreamCaches(name, zipformerCaches(encoder, name));
    const windowFrames = requireFixed(encoder, name, "x", 1);
    const melBins = requireFixed(encoder, name, "x", 2);
    const shiftFrames = windowFrames - PAD_FRAMES;
    if (shiftFrames < SUBSAMPLING || shiftFrames % SUBSAMPLING !== 0) {
      const rule = `must be ${PAD_FRAMES} more than a multiple of ${SUBSAMPLING}, found ${windowFrames}`;
      throw brokenModel(`Cannot load ${name}: dimension 1 of x ${rule}`);
    }
    this.#window = { windowFrames, melBins };
    this.#framesPerChunk = shiftFrames / SUBSAMPLING;
    requireDimension(encoder, name, "encoder_out", { axis: 1, expected: this.#framesPerChunk });
    const logMel = new LogMel(FRONT_ENDS.kaldi(melBins));
    this.#features = new ChunkFeatures(logMel, { windowFrames, shiftFrames, leadFrames: 0 });
    this.rowsPerChunk = this.#framesPerChunk * ROWS_PER_FRAME;
    this.samplesPerRow = (SUBSAMPLING * logMel.options.hopSamples) / ROWS_PER_FRAME;
  }

  spanOf(chunk: number): SampleSpan {
    return this.#features.spanOf(chunk);
  }

  /** The encoder's caches and then the search's state; later also the encoder's output of each chunk. */
  initial(): StreamState {
    return [...this.#caches.initial(), ...this.#search.initial()];
  }

  async run(next: ChunkInput): Promise<Float32Array> {
    const x = windowOf(next, this.#features, this.#window);
    const answer = await this.#encoder.run({ ...this.#caches.feeds(next.state), x });
    const size = this.#framesPerChunk * this.#graphs.width;
    const encoded = floatsOf(this.#name, "encoder_out", answer, size);
    this.#caches.take(answer, next.state);
    const rows = await this.#search.advance(encoded, next.state, this.#caches.count);
    next.state.push(answer["encoder_out"]!);
    return rows;
  }

  finish(rows: Float32Array, state: StreamState, chunks: number): void {
    const first = this.#caches.count + TransducerSearch.stateCount;
    const size = this.#framesPerChunk * this.#graphs.width;
    const encoded = new Float32Array(chunks * size);
    for (let chunk = 0; chunk < chunks; chunk++) {
      encoded.set(state[first + chunk]!.data as Float32Array, chunk * size);
    }
    this.#searched.remember(rows, encoded);
  }

  searchOver(fallback: TokenSearch): TokenSearch {
    return this.#searched.over(fallback);
  }

  async release(): Promise<void> {
    await this.#encoder.release();
    await this.#graphs.release();
  }
}
