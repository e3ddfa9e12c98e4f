import assert from "node:assert/strict";
import test from "node:test";
import { BeamDecoder } from "../../../core/domain/decoding/beam-decoder.js";
import { outputBias } from "../../../core/domain/decoding/output-bias.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";

const VOCABULARY = ["", " ", "а", "б"];
const OPTIONS = { beamWidth: 8, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };

/** Converts frames of probabilities to log-probs. */
function frames(...rows: readonly (readonly number[])[]): Float32Array {
  return Float32Array.from(rows.flat(), Math.log);
}

function near(found: number, expected: number): void {
  assert.ok(Math.abs(found - expected) < 1e-5, `${found} for ${expected}`);
}

test("rare outputs gain, frequent ones lose, and blank keeps its score", () => {
  const bias = outputBias([9, 0.2, 0.2, 0.6], 0.5);
  assert.equal(bias[0], 0);
  const entropy = -(2 * 0.2 * Math.log(0.2) + 0.6 * Math.log(0.6));
  near(bias[1]!, -0.5 * (Math.log(0.2) + entropy));
  near(bias[3]!, -0.5 * (Math.log(0.6) + entropy));
  near(0.2 * bias[1]! + 0.2 * bias[2]! + 0.6 * bias[3]!, 0);
});

test("outputs without a prior gain no more than very rare ones", () => {
  assert.ok(outputBias([0, 0.5, 0.5, 0], 0).every((value) => value === 0));
  const bias = outputBias([0, 0.5, 0.499, 0.001], 1);
  const never = outputBias([0, 0.5, 0.5, 0], 1);
  assert.ok(never[3]! > bias[3]! && never[3]! < bias[3]! + 2);
});

test("the search removes the priors; word confidence uses the network alone", () => {
  const logProbs = frames([0.1, 0.01, 0.5, 0.39], [0.97, 0.01, 0.01, 0.01]);
  const plain = new BeamDecoder(VOCABULARY, new PrefixBeamSearch(VOCABULARY, null, OPTIONS));
  const priors = outputBias([0, 0.2, 0.6, 0.2], 1);
  const search = new PrefixBeamSearch(VOCABULARY, null, OPTIONS);
  const biased = new BeamDecoder(VOCABULARY, search, { outputBias: priors });
  assert.equal(plain.decode(logProbs, 2).text, "а");
  const found = biased.decode(logProbs, 2);
  assert.equal(found.text, "б");
  near(found.confidence, 0.39);
  near(Math.exp(logProbs[2]!), 0.5);
});

test("a workspace used for a longer utterance does not affect a shorter one", () => {
  const search = new PrefixBeamSearch(VOCABULARY, null, OPTIONS);
  const decoder = new BeamDecoder(VOCABULARY, search, { outputBias: outputBias([0, 0.2, 0.6, 0.2], 1) });
  const short = frames([0.1, 0.01, 0.5, 0.39]);
  const before = decoder.decode(short, 1);
  decoder.decode(frames([0.1, 0.1, 0.1, 0.7], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1]), 3);
  assert.deepEqual(decoder.decode(short, 1), before);
});
