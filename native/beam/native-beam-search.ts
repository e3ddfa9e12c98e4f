import { brokenLanguageModel } from "../../core/domain/decoding/broken-language-model.js";
import type { GrowingSearch, GrownText } from "../../core/domain/decoding/growing-search.js";
import type { HotWords } from "../../core/domain/decoding/hot-words.js";
import { readLanguageModelHeader, requireVocabulary } from "../../core/domain/decoding/language-model.js";
import { LOG_ADD_TABLE } from "../../core/domain/decoding/log-add.js";
import {
  type BeamSearchOptions,
  type Hypotheses,
  type Hypothesis,
  searchStopped,
  type TokenSearch,
  withDefaults,
} from "../../core/domain/decoding/prefix-beam-search.js";
import type { NativeBinding, NativeHypotheses, NativeModel, NativeSearch } from "./binding.js";
import type { UnpackedModels } from "./unpacked-models.js";

/**
 * Returns the process's language model with this key; the first thread reads it from the file. It is freed
 * when the last thread that uses it ends.
 *
 * @param key the file's hash
 * @param readFile returns the model file after gunzip
 * @param unpacked cache of unpacked models from earlier processes, if any
 * @throws {ServiceError} `MODEL_BROKEN`, as `LanguageModel.parse`
 */
export async function sharedModel(
  binding: NativeBinding,
  key: string,
  vocabulary: readonly string[],
  readFile: () => Promise<Uint8Array>,
  unpacked: UnpackedModels | null = null,
): Promise<NativeModel> {
  const known = binding.findModel(key);
  if (known !== null) return known;
  const { header, sections } = readLanguageModelHeader(await readFile());
  requireVocabulary(header, vocabulary);
  const kept = unpacked?.read(binding, key, vocabulary.length) ?? null;
  if (kept !== null) return kept;
  try {
    const { nodeCount, arcCount, wordCount } = header;
    const sizes = [vocabulary.length, nodeCount, arcCount, wordCount] as const;
    const model = binding.readModel(key, sections, ...sizes, header.version === 2);
    // Runs in the background.
    void unpacked?.write(binding, key, model);
    return model;
  } catch (error) {
    throw brokenLanguageModel(error instanceof Error ? error.message : String(error), error);
  }
}

/**
 * `PrefixBeamSearch` in C++, with the same results; `bench/micro/native-beam-search.ts` measures its speed.
 */
export class NativeBeamSearch implements TokenSearch {
  readonly #binding: NativeBinding;
  readonly #search: NativeSearch;
  readonly #hasModel: boolean;
  /** Search for another thread, with a separate workspace. */
  readonly #aside: NativeSearch;
  #asideIsDone: Promise<unknown> = Promise.resolve();

  constructor(
    binding: NativeBinding,
    vocabulary: readonly string[],
    model: NativeModel | null,
    options: BeamSearchOptions,
  ) {
    this.#binding = binding;
    const search = {
      ...withDefaults(options),
      vocabularySize: vocabulary.length,
      space: vocabulary.indexOf(" "),
    };
    this.#hasModel = model !== null;
    this.#search = binding.makeSearch(model, search, LOG_ADD_TABLE);
    this.#aside = binding.makeSearch(model, search, LOG_ADD_TABLE);
  }

  search(logProbs: Float32Array, frames: number, hotWords: HotWords | null): Hypotheses {
    return hypothesesOf(this.#binding.search(this.#search, logProbs, frames, hotWords));
  }

  growing(beamWidth: number): GrowingSearch | null {
    if (!this.#hasModel) return null;
    return new NativeGrowingSearch(this.#binding, this.#binding.withBeam(this.#search, beamWidth));
  }

  /** Runs one search at a time, in the order of calls. */
  async searchAside(
    logProbs: Float32Array,
    frames: number,
    hotWords: HotWords | null,
    outputBias: Float32Array | null,
    stop: Int32Array | null = null,
  ): Promise<Hypotheses> {
    const searched = this.#asideIsDone.then(() =>
      this.#binding.searchAside(this.#aside, logProbs, frames, hotWords, outputBias, stop),
    );
    this.#asideIsDone = searched.catch(() => {});
    const found = await searched;
    if (found === null) throw searchStopped();
    return hypothesesOf(found);
  }
}

/** Buffer for the last text, shared by all searches of this thread. */
let text = new Uint16Array(1_024);

class NativeGrowingSearch implements GrowingSearch {
  readonly #binding: NativeBinding;
  readonly #search: NativeSearch;

  constructor(binding: NativeBinding, search: NativeSearch) {
    this.#binding = binding;
    this.#search = search;
  }

  begin(): void {
    this.#binding.begin(this.#search);
  }

  push(logProbs: Float32Array): number {
    return this.#binding.push(this.#search, logProbs);
  }

  grown(): GrownText {
    for (;;) {
      const count = this.#binding.grown(this.#search, text);
      if (count < text.length) return { tokens: text.subarray(1, 1 + count), settled: text[0]! };
      text = new Uint16Array(2 * (count + 1));
    }
  }

  keepBestText(): void {
    this.#binding.keepBestText(this.#search);
  }
}

function hypothesesOf({ tokens, ends, scores }: NativeHypotheses): Hypotheses {
  const textOf = (rank: number): Hypothesis => {
    return { tokens: tokens.subarray(rank === 0 ? 0 : ends[rank - 1], ends[rank]), score: scores[rank]! };
  };
  return [textOf(0), ...Array.from(scores.subarray(1), (_, i) => textOf(i + 1))];
}
