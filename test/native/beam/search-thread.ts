import { parentPort, workerData } from "node:worker_threads";
import { loadBinding } from "../../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../../native/beam/native-beam-search.js";

/** The input of a thread in `threads.test.ts`. */
export interface SearchThreadData {
  readonly key: string;
  readonly file: Uint8Array;
  readonly vocabulary: readonly string[];
  readonly logProbs: Float32Array;
  readonly frames: number;
  /** The number of searches, which may be infinite. */
  readonly rounds: number;
}

/** Searches the same audio repeatedly, and posts the scores of the texts in every round. */
const { key, file, vocabulary, logProbs, frames, rounds } = workerData as SearchThreadData;
const { binding } = loadBinding();
const model = await sharedModel(binding!, key, vocabulary, async () => file);
const options = { beamWidth: 24, languageModelWeight: 0.6, characterBonus: 0.8, wordBonus: 0.5 };
const search = new NativeBeamSearch(binding!, vocabulary, model, options);
for (let round = 0; round < rounds; round++) {
  const here = search.search(logProbs, frames, null);
  // Every other search runs on another thread, so this one may be ended during the search.
  const found = round % 2 === 0 ? here : await search.searchAside(logProbs, frames, null, null);
  parentPort!.postMessage(found.map(({ score }) => score));
  // A turn of the event loop, during which the thread can be told to end.
  await new Promise((resolve) => setImmediate(resolve));
}
