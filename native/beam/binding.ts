import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Convolve } from "../../core/domain/audio/resample.js";
import type { HotWords } from "../../core/domain/decoding/hot-words.js";
import type { Product } from "../../core/domain/matrix-product.js";

/** Output of `scripts/build-native.mjs`, relative to `dist/native/beam`. */
const BUILT = fileURLToPath(new URL("../../../native/beam/build/Release/beam.node", import.meta.url));

/** A language model in memory, shared by all threads. */
export type NativeModel = object & { readonly __nativeModel: never };
/** A search with its workspace; belongs to the thread that created it. */
export type NativeSearch = object & { readonly __nativeSearch: never };

export interface NativeHypotheses {
  readonly tokens: Uint8Array;
  /** End of each text in `tokens`. */
  readonly ends: Int32Array;
  readonly scores: Float64Array;
}

export interface NativeBinding {
  findModel(key: string): NativeModel | null;
  /** @throws {Error} if the sections are inconsistent */
  readModel(
    key: string,
    sections: Uint8Array,
    vocabularySize: number,
    nodeCount: number,
    arcCount: number,
    wordCount: number,
    isPacked: boolean,
  ): NativeModel;
  /** Reads a file written by `writeTables`; null if the file is incomplete. */
  readTables(key: string, path: string, vocabularySize: number): NativeModel | null;
  /**
   * Writes the tables of a model to a new file, on another thread; readable on this machine only.
   * @throws if the file exists or cannot be written; a partial file remains
   */
  writeTables(model: NativeModel, path: string): Promise<void>;
  modelBytes(model: NativeModel): number;
  makeSearch(
    model: NativeModel | null,
    options: {
      readonly vocabularySize: number;
      readonly space: number;
      readonly beamWidth: number;
      readonly languageModelWeight: number;
      readonly characterBonus: number;
      readonly wordBonus: number;
      readonly candidatesPerFrame: number;
      readonly candidateFloor: number;
      readonly beamMargin: number;
    },
    logAddTable: Float64Array,
  ): NativeSearch;
  /** Reads the arrays in place. */
  search(
    search: NativeSearch,
    logProbs: Float32Array,
    frames: number,
    hotWords: HotWords | null,
  ): NativeHypotheses;
  /**
   * Searches on another thread, with `outputBias` added to each frame. Until the promise settles, the search
   * must not be used and the arrays must not change, except for `stop`: once its first number is not 0, the
   * search ends, and finds null.
   */
  searchAside(
    search: NativeSearch,
    logProbs: Float32Array,
    frames: number,
    hotWords: HotWords | null,
    outputBias: Float32Array | null,
    stop: Int32Array | null,
  ): Promise<NativeHypotheses | null>;
  /**
   * Makes another search over the same model and its cache; afterwards, neither may run on another thread.
   */
  withBeam(search: NativeSearch, beamWidth: number): NativeSearch;
  /** See `GrowingSearch`, which also documents the methods below. */
  begin(search: NativeSearch): void;
  push(search: NativeSearch, logProbs: Float32Array): number;
  /**
   * @param text receives the number of settled tokens, then the tokens, if they fit
   * @returns the number of tokens
   */
  grown(search: NativeSearch, text: Uint16Array): number;
  keepBestText(search: NativeSearch): void;
  /** @throws if the sizes of the arrays do not match */
  readonly resample: Convolve;
  /** Absent in older addons. @throws if the sizes of the arrays do not match */
  readonly product?: Product;
}

export type LoadedBinding =
  | { readonly binding: NativeBinding; readonly missing: null }
  | { readonly binding: null; readonly missing: string };

/** Loads the addon into this thread; without it the search runs in TypeScript. */
export function loadBinding(path = BUILT): LoadedBinding {
  try {
    return { binding: createRequire(import.meta.url)(path) as NativeBinding, missing: null };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return { binding: null, missing: reason };
  }
}
