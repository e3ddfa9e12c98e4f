import assert from "node:assert/strict";
import { test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import {
  bestPath,
  readStreamingReference,
  referencePcm,
  searchedAside,
} from "../../../bench/support/streaming-reference.js";

const { peer, packages, beams } = readStreamingReference();

for (const [id, reference] of Object.entries(packages)) {
  test(`${id} has the tokens of ${peer}, at the same times, with the same log-probs`, async () => {
    const { model } = await recognizerIn(`test/fixtures/adapters/${id}`);
    const { logProbs } = await model.decodeUtterance(referencePcm());
    const rowSeconds = model.outputFrameSamples / model.manifest.sampleRateHz;
    const ours = bestPath(logProbs, { vocabulary: model.vocabulary, rowSeconds });
    const count = ours.tokens.length;
    assert.ok(count >= 10, `${count} tokens`);
    assert.ok(new Set(ours.tokens).size >= 3, "of several kinds");
    // The peer reads more silence after the audio.
    assert.deepEqual(
      ours.tokens.map((token) => token.trim()),
      reference.tokens.slice(0, count),
    );
    for (const [i, seconds] of ours.seconds.entries()) {
      // The five tokens of a frame have one row each. Equal tokens have two rows.
      const tolerance = id === "tiny-nemo-tdt" ? 0.32 : 0;
      const difference = Math.abs(seconds - reference.seconds[i]!);
      assert.ok(difference < tolerance + 0.001, `token ${i} at ${seconds} s`);
    }
    for (const [i, logProb] of reference.logProbs.slice(0, count).entries()) {
      const difference = Math.abs(logProb - ours.logProbs[i]!);
      assert.ok(difference < 1e-4, `log-prob of token ${i} differs by ${difference}`);
    }
    await model.release();
  });
}

for (const [id, reference] of Object.entries(beams)) {
  test(`${id} finds the tokens of ${peer}'s beam search, at the same times`, async () => {
    const { model, utterances } = await recognizerIn(`test/fixtures/adapters/${id}`);
    const { logProbs, frames } = await model.decodeUtterance(referencePcm());
    const [{ rows }] = await searchedAside(utterances.tokenSearch, logProbs, frames);
    const rowSeconds = model.outputFrameSamples / model.manifest.sampleRateHz;
    const ours = bestPath(rows!, { vocabulary: model.vocabulary, rowSeconds });
    assert.deepEqual(
      ours.tokens.map((token) => token.trim()),
      reference.tokens,
    );
    for (const [i, seconds] of ours.seconds.entries()) {
      assert.ok(Math.abs(seconds - reference.seconds[i]!) < 0.001, `token ${i} at ${seconds} s`);
    }
    const greedy = bestPath(logProbs, { vocabulary: model.vocabulary, rowSeconds });
    assert.notDeepEqual(ours.tokens, greedy.tokens, "it finds another text than the greedy search");
    await model.release();
  });
}

test("the reference includes log-probs of a transducer", () => {
  const { tokens, logProbs } = packages["tiny-zipformer2-transducer"]!;
  assert.equal(logProbs.length, tokens.length);
});
