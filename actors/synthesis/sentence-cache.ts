import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ServiceError } from "../../core/domain/errors.js";
import type { SpeakOptions, SynthesisJob, SynthesizedPiece } from "../../core/ports/synthesizer.js";

/** Records hits, misses and size for metrics. */
export interface SentenceCacheObserver {
  hit(): void;
  missed(): void;
  /** Reports the current size of the cache. */
  holds(bytes: number): void;
}

/** A requested piece and its listener. */
export interface WantedPiece {
  /** Requests share cached pieces only within the same scope. */
  readonly scope: string;
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly onBounds?: SpeakOptions["onBounds"];
  readonly onPcm?: SpeakOptions["onPcm"];
}

/** Estimated size of the key, list links and objects of an entry, without its samples. */
const ENTRY_BYTES = 512;

/**
 * Keeps the most recently used finished pieces. Noise is seeded, so a cached piece equals a new synthesis.
 * Keys are hashes, so the cache contains no text.
 */
export class SentenceCache {
  readonly #pieces: LRUCache<string, SynthesizedPiece>;
  readonly #weights: ReadonlyMap<string, string>;
  readonly #observer: SentenceCacheObserver | null;

  /**
   * @param options.weights identifies the weights of each model ID: other weights under the same ID are a
   *   different model
   * @param options.capacityBytes more than 0; larger pieces are not cached
   */
  constructor(options: {
    readonly weights: ReadonlyMap<string, string>;
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

  /**
   * Returns a cached piece, or synthesizes and caches it.
   *
   * @param make synthesizes the piece for the listener
   * @throws {ServiceError} `CANCELLED` if `signal` is aborted; also everything that `make` throws
   */
  async pieceOf(
    { scope, job, signal, onBounds, onPcm }: WantedPiece,
    make: () => Promise<SynthesizedPiece>,
  ): Promise<SynthesizedPiece> {
    if (signal.aborted) throw new ServiceError("CANCELLED", "synthesis was cancelled");
    const kept = this.get(scope, job);
    if (kept !== null) {
      if (kept.characterBounds !== null) onBounds?.(kept.characterBounds);
      onPcm?.(kept.pcm);
      return kept;
    }
    const piece = await make();
    this.put(scope, job, piece);
    return piece;
  }

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

  /** Every member of the job is part of the key, including future ones. */
  #keyOf(scope: string, job: SynthesisJob): string {
    const members = Object.entries(job).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const identity = JSON.stringify([scope, this.#weights.get(job.modelId), members]);
    return createHash("sha256").update(identity).digest("base64");
  }
}

function bytesOf({ pcm, characterBounds }: SynthesizedPiece): number {
  return pcm.byteLength + (characterBounds?.byteLength ?? 0) + ENTRY_BYTES;
}
