import { type InferenceSession, Tensor } from "onnxruntime-node";
import type { PitchedCondition } from "../../../core/domain/synthesis/melody.js";

/** A remainder smaller than this joins the first run: a separate run would double its cost. */
const LEAST_REST_PATCHES = 32;

export interface ConditionSource {
  /** `[1, tokens, hidden width]`, from the encoder. */
  readonly hidden: Tensor;
  readonly voice: Tensor;
  readonly frameToToken: BigInt64Array;
  /** `[frames, 3]` */
  readonly position: Float32Array;
}

export interface ConditionGraph {
  /** Frames on each side on which a frame's condition depends. */
  readonly reach: number;
  readonly patchFrames: number;
  run(feeds: InferenceSession.FeedsType): Promise<InferenceSession.ReturnType>;
  /** Changes the values of a computed part in place, before they are used. */
  finish(part: PitchedCondition): void;
}

/**
 * A piece's condition, pitch and voicing, computed on demand: a listener waits only for the first chunk's.
 * Each run includes the frames around a part that it depends on, so that parts equal a single run over the
 * piece.
 */
export class PieceCondition {
  /** Pitch in Hz, `[frames]`; 0 where not computed yet. */
  readonly f0: Float32Array;
  /** Voicing from 0 to 1, `[frames]`; 0 where not computed yet. */
  readonly voicing: Float32Array;
  readonly #source: ConditionSource;
  readonly #graph: ConditionGraph;
  /** `[frames / patchFrames, width]`, after the first run. */
  #values = new Float32Array(0);
  #width = 0;
  #madePatches = 0;

  constructor(source: ConditionSource, graph: ConditionGraph) {
    this.#source = source;
    this.#graph = graph;
    this.f0 = new Float32Array(source.frameToToken.length);
    this.voicing = new Float32Array(source.frameToToken.length);
  }

  /** Values per patch, known after the first run. */
  get width(): number {
    return this.#width;
  }

  /** @returns `[end - start, width]` */
  async of(start: number, end: number): Promise<Float32Array> {
    if (end > this.#madePatches) await this.#makeUpTo(end);
    return this.#values.subarray(start * this.#width, end * this.#width);
  }

  async #makeUpTo(wanted: number): Promise<void> {
    const { hidden, voice, frameToToken, position } = this.#source;
    const { reach, patchFrames } = this.#graph;
    const frames = frameToToken.length;
    const patches = frames / patchFrames;
    const made = this.#madePatches;
    // Compute one additional patch, because pulses glide towards the pitch of the next frame. The second run
    // computes the rest.
    const isRestSmall = patches - wanted <= LEAST_REST_PATCHES + reach / patchFrames;
    const end = made > 0 || isRestSmall ? patches : wanted + 1;
    const from = Math.max(0, made * patchFrames - reach);
    const to = Math.min(frames, end * patchFrames + reach);
    const length = to - from;
    const results = await this.#graph.run({
      hidden,
      frame_to_token: new Tensor("int64", frameToToken.subarray(from, to), [1, length]),
      position: new Tensor("float32", position.subarray(3 * from, 3 * to), [1, length, 3]),
      voice,
      mask: new Tensor("float32", new Float32Array(length).fill(1), [1, length]),
    });
    const condition = results["condition"] as Tensor;
    this.#width = condition.dims[2]!;
    if (made === 0) this.#values = new Float32Array(patches * this.#width);
    const part = {
      f0: this.f0.subarray(made * patchFrames, end * patchFrames),
      condition: this.#values.subarray(made * this.#width, end * this.#width),
    };
    const skipped = made * patchFrames - from;
    const madeFrames = (values: Tensor) =>
      (values.data as Float32Array).subarray(skipped, skipped + part.f0.length);
    part.f0.set(madeFrames(results["f0"] as Tensor));
    this.voicing.set(madeFrames(results["voicing"] as Tensor), made * patchFrames);
    const first = (skipped / patchFrames) * this.#width;
    part.condition.set((condition.data as Float32Array).subarray(first, first + part.condition.length));
    this.#graph.finish(part);
    this.#madePatches = end;
  }
}
