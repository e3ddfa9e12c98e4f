import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ServiceError } from "../../core/domain/errors.js";
import type { SpeakOptions, SynthesisJob, SynthesizedPiece } from "../../core/ports/synthesizer.js";

/** Told what the cache does. */
export interface SentenceCacheObserver {
  hit(): void;
  missed(): void;
  /** Bytes that the cache takes now. */
  holds(bytes: number): void;
}

/** A piece that somebody wants, and the listener who hears it. */
export interface WantedPiece {
  /** Who may hear what is kept under it. */
  readonly scope: string;
  readonly job: SynthesisJob;
  readonly signal: AbortSignal;
  readonly onBounds?: SpeakOptions["onBounds"];
  readonly onPcm?: SpeakOptions["onPcm"];
}

/** Key, links of the list and the objects around the samples, about. */
const ENTRY_BYTES = 512;

/**
 * Finished pieces, those that were asked for last. The same job gives the same samples, for its noise is seeded, so what is
 * kept is what would be made again. Keys are hashes: no text is kept, and none can be read out of the cache.
 */
export class SentenceCache {
  readonly #pieces: LRUCache<string, SynthesizedPiece>;
  readonly #weights: ReadonlyMap<string, string>;
  readonly #observer: SentenceCacheObserver | null;

  /**
   * @param options.weights tells the weights that speak, by model id: other weights under the same id are another model
   * @param options.capacityBytes more than 0; a longer piece is not kept
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
   * A finished piece: kept from an earlier request, or made now and kept.
   *
   * @param make speaks the piece, and tells the listener
   * @throws {ServiceError} `CANCELLED` when nobody waits any more, and whatever `make` throws
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
    const identity = JSON.stringify([scope, this.#weights.get(job.modelId), members]);
    return createHash("sha256").update(identity).digest("base64");
  }
}

function bytesOf({ pcm, characterBounds }: SynthesizedPiece): number {
  return pcm.byteLength + (characterBounds?.byteLength ?? 0) + ENTRY_BYTES;
}
