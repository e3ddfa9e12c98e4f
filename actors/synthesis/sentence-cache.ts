import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ServiceError } from "../../src/domain/errors.js";
import type {
  SpeakOptions,
  SynthesisJob,
  SynthesizedPiece,
  Synthesizer,
} from "../../src/ports/synthesizer.js";

/** Told what the cache does. */
export interface SentenceCacheObserver {
  hit(): void;
  missed(): void;
  /** Bytes that the cache takes now. */
  holds(bytes: number): void;
}

/** Key, links of the list and the objects around the samples, about. */
const ENTRY_BYTES = 512;

/**
 * Finished pieces, those that were asked for last. The same job gives the same samples, for its noise is seeded, so what is
 * kept is what would be made again. Keys are hashes: no text is kept, and none can be read out of the cache.
 */
export class SentenceCache {
  readonly #pieces: LRUCache<string, SynthesizedPiece>;
  readonly #weights: string;
  readonly #observer: SentenceCacheObserver | null;

  /**
   * @param options.weights tells the weights that speak: other weights under the same model id are another model
   * @param options.capacityBytes more than 0; a longer piece is not kept
   */
  constructor(options: {
    readonly weights: string;
    readonly capacityBytes: number;
    readonly observer?: SentenceCacheObserver;
  }) {
    this.#weights = options.weights;
    this.#observer = options.observer ?? null;
    this.#pieces = new LRUCache({ maxSize: options.capacityBytes, sizeCalculation: bytesOf });
  }

  get bytes(): number {
    return this.#pieces.calculatedSize;
  }

  /** @param scope who may hear what is kept under it */
  get(scope: string, job: SynthesisJob): SynthesizedPiece | null {
    const piece = this.#pieces.get(this.#keyOf(scope, job)) ?? null;
    if (piece === null) this.#observer?.missed();
    else this.#observer?.hit();
    return piece;
  }

  put(scope: string, job: SynthesisJob, piece: SynthesizedPiece): void {
    this.#pieces.set(this.#keyOf(scope, job), piece);
    this.#observer?.holds(this.bytes);
  }

  /** Every member of the job counts, those too that are added to it some day. */
  #keyOf(scope: string, job: SynthesisJob): string {
    const members = Object.entries(job).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const identity = JSON.stringify([scope, this.#weights, members]);
    return createHash("sha256").update(identity).digest("base64");
  }
}

/** A synthesizer that does not make a piece again which it still has. For one request, as `ResidentSynthesizer`. */
export class CachingSynthesizer implements Synthesizer {
  readonly #synthesizer: Synthesizer;
  readonly #cache: SentenceCache;
  readonly #scope: string;

  /** @param scope see `SentenceCache.get` */
  constructor(synthesizer: Synthesizer, cache: SentenceCache, scope: string) {
    this.#synthesizer = synthesizer;
    this.#cache = cache;
    this.#scope = scope;
  }

  async speak(job: SynthesisJob, signal: AbortSignal, options?: SpeakOptions): Promise<SynthesizedPiece> {
    if (signal.aborted) throw new ServiceError("CANCELLED", "synthesis was cancelled");
    const kept = this.#cache.get(this.#scope, job);
    if (kept !== null) {
      options?.onPcm?.(kept.pcm);
      return kept;
    }
    const piece = await this.#synthesizer.speak(job, signal, options);
    this.#cache.put(this.#scope, job, piece);
    return piece;
  }
}

function bytesOf({ pcm, characterBounds }: SynthesizedPiece): number {
  return pcm.byteLength + (characterBounds?.byteLength ?? 0) + ENTRY_BYTES;
}
