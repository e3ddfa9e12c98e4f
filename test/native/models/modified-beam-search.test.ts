import assert from "node:assert/strict";
import { test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { referencePcm } from "../../../bench/support/streaming-reference.js";
import { type HotWord, HotWords } from "../../../core/domain/decoding/hot-words.js";
import { readPackage } from "../../../native/models/find-packages.js";
import { RunTimes } from "../../../native/models/run-times.js";
import { readTokens } from "../../../native/models/tokens.js";
import { copySpan } from "../../../native/models/utterance-reader.js";
import type { TransducerManifest } from "../../../native/models/zipformer2-transducer/manifest.js";
import { StatelessGraphs } from "../../../native/models/zipformer2-transducer/stateless-graphs.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { eventually } from "../../support/eventually.js";
import { changeManifest, copyOfPackage } from "../../support/folders.js";

const FOLDER = "test/fixtures/adapters/tiny-zipformer2-transducer";
const PCM = referencePcm();
const OPTIONS = { offsetSeconds: 3, speechMean: 1 };

function hot(recognizer: Recognizer, ...words: HotWord[]): HotWords | null {
  return HotWords.compile(words, recognizer.model.vocabulary);
}

test("a hot word is found, with its times, in sounds that the model would otherwise write differently", async () => {
  const recognizer = await recognizerIn(FOLDER);
  const { model, utterances } = recognizer;
  const said = async (...words: HotWord[]) =>
    utterances.decode(PCM, { ...OPTIONS, hotWords: hot(recognizer, ...words) });
  const plain = await said();
  assert.ok(!plain.text.includes("сало"), plain.text);
  const found = await said({ text: "сало", characterScore: 5 });
  assert.ok(found.text.includes("сало"), found.text);
  assert.equal((await said({ text: "мир", characterScore: 0 })).text, plain.text);
  for (const { words } of [plain, found]) {
    assert.ok(words.length > 1);
    for (const [i, { start, end, confidence }] of words.entries()) {
      assert.ok(start <= end && end <= 3 + PCM.length / 16_000 && start >= (words[i - 1]?.start ?? 3));
      assert.ok(confidence > 0 && confidence <= 1, String(confidence));
    }
  }
  await model.release();
});

test("an utterance read while it is spoken has the same text and bits as one read whole", async () => {
  const recognizer = await recognizerIn(FOLDER);
  const { model, utterances } = recognizer;
  const hotWords = hot(recognizer, { text: "сало", characterScore: 2 });
  const reader = model.reader!;
  const reading = reader.begin();
  for (let chunk = 0; chunk < 9; chunk++) await reader.read(reading, copySpan(PCM, reader.next(reading)));
  const [read] = await model.refine([PCM], [reading]);
  const whole = await model.decodeUtterance(PCM);
  const search = utterances.tokenSearch.searchAside!.bind(utterances.tokenSearch);
  assert.deepEqual(
    await search(read!.logProbs, read!.frames, hotWords, null),
    await search(whole.logProbs, whole.frames, hotWords, null),
  );
  await model.release();
});

test("one active path gives the text of the greedy search", async () => {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, activePaths: 1 }));
  const { model, utterances } = await recognizerIn(folder);
  const { logProbs, frames } = await model.decodeUtterance(PCM);
  const [searched] = await utterances.tokenSearch.searchAside!(logProbs, frames, null, null);
  const [greedy] = utterances.tokenSearch.search(logProbs, frames, null);
  assert.deepEqual([...Array.from(searched.tokens)], [...Array.from(greedy.tokens)]);
  await model.release();
});

test("rows from elsewhere are searched like those of any recogniser", async () => {
  const { model, utterances } = await recognizerIn(FOLDER);
  const { logProbs, frames } = await model.decodeUtterance(PCM.subarray(0, 32_000));
  const copy = logProbs.slice();
  const found = await utterances.tokenSearch.searchAside!(copy, frames, null, null);
  assert.deepEqual(found, utterances.tokenSearch.search(copy, frames, null));
  await model.release();
});

test("the decoder runs once for a context, whichever search needs it", async () => {
  const model = await readPackage<TransducerManifest>(FOLDER, "transcription");
  const times = new RunTimes(model);
  const options = { intraOpThreads: 1, runTimes: times.cells };
  const graphs = await StatelessGraphs.load(model, await readTokens(model), options);
  const runs = () => times.read().find(({ graph }) => graph === "decoder")!.rows;
  const first = await graphs.decode(BigInt64Array.of(3n, 4n));
  const other = await graphs.decode(BigInt64Array.of(4n, 3n));
  assert.equal(await graphs.decode(BigInt64Array.of(3n, 4n)), first);
  assert.notDeepEqual(other.data, first.data);
  await eventually("both runs are counted", () => runs() === 2);
  await graphs.release();
});

test("activePaths must be at least 1", async () => {
  const folder = await copyOfPackage(FOLDER);
  await changeManifest(folder, (manifest) => ({ ...manifest, activePaths: 0 }));
  await assert.rejects(recognizerIn(folder), /activePaths must be a whole number of at least 1, found 0/);
});
