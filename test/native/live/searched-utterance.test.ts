import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { groupBy } from "../../../bench/evaluate/group-by.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { joinedStream, SAMPLE_RATE_HZ, speechOf } from "../../../bench/support/spoken-stream.js";
import { type SteppedAnswer, stepSession } from "../../../bench/support/stepped-session.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import type { OpenText } from "../../../native/live/hypothesis.js";
import { SearchedUtterance } from "../../../native/live/searched-utterance.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { BigramModel, SMALL_VOCABULARY } from "../../domain/decoding/reference.js";
import { joined, silence, speech } from "../../support/audio.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
const PEOPLE = ["digits_19", "conf-getconfno"].map((name) =>
  speechOf(speech(`asterisk-ru-core/${name}.flac`)),
);

let recognizer: Recognizer;
before(async () => {
  recognizer = await recognizerIn(RECOGNIZER_FOLDER);
});
after(() => recognizer.model.release());

function stablePart({ text, stable }: Extract<SteppedAnswer, { type: "partial" }>): string {
  return [...text].slice(0, stable ?? Number.POSITIVE_INFINITY).join("");
}

test("the final keeps the stable text of partials and equals the last one", async () => {
  for (const recordings of [[KAZAKH], PEOPLE]) {
    const { pcm } = joinedStream(recordings, 0.26 * SAMPLE_RATE_HZ);
    const { answers } = await stepSession(recognizer, pcm, {});
    const finals = answers.filter((answer) => answer.type === "final" && answer.text);
    assert.ok(finals.length >= recordings.length, `${finals.length} finals`);
    const partials = groupBy(
      answers.filter((answer) => answer.type === "partial"),
      ({ utterance }) => utterance,
    );
    for (const { utterance, text } of finals) {
      const texts = partials.get(utterance)!;
      for (const [index, later] of texts.slice(1).entries()) {
        assert.ok(later.text.startsWith(stablePart(texts[index]!)), `${texts[index]!.text} > ${later.text}`);
      }
      const last = texts.at(-1)!;
      // The final is the text that was shown to the listener, unless the text contradicts what was stable.
      if (text!.startsWith(stablePart(last))) assert.equal(last.text, text);
    }
  }
});

test("finals do not depend on partials", async () => {
  const { pcm } = joinedStream(PEOPLE, 0.26 * SAMPLE_RATE_HZ);
  const [withPartials, without] = await Promise.all(
    [true, false].map((wantsPartials) => stepSession(recognizer, pcm, { wantsPartials })),
  );
  const finals = withPartials!.answers.filter(({ type }) => type === "final");
  assert.ok(finals.length >= PEOPLE.length);
  assert.deepEqual(
    finals.filter(({ text }) => text),
    without!.answers.filter(({ text }) => text),
  );
});

/** A frame in which one output is nearly certain. */
function frameOf(output: number, logProb = -0.01): Float32Array {
  return Float32Array.from(SMALL_VOCABULARY, (_, other) => (other === output ? logProb : -8));
}

function heard(outputs: readonly number[], firstOwnFrame = 0): OpenText {
  const model = new BigramModel(new Array(16).fill(1), 4);
  const options = { beamWidth: 8, languageModelWeight: 0.1, characterBonus: 0, wordBonus: 0 };
  const search = new PrefixBeamSearch(SMALL_VOCABULARY, model, options).growing(8)!;
  const text = new SearchedUtterance(
    { search, vocabulary: SMALL_VOCABULARY, outputBias: null },
    0,
    firstOwnFrame,
  );
  for (const output of outputs) text.take(output, -0.01, frameOf(output));
  return text;
}

test("an utterance contains no letters of the previous one", () => {
  assert.equal(heard([2, 3, 3, 0, 2], 2).takeUpdate()?.text, "а");
  assert.equal(heard([2, 3, 0, 3, 2], 2).takeUpdate()?.text, "ба");
});

test("the second pass's text of a pause stays when speech resumes", () => {
  const text = heard([2, 0, 1, 3, 0]);
  assert.equal(text.takeUpdate()?.text, "а б");
  assert.deepEqual(text.takeSecondPass("аа бб"), { text: "аа бб", stable: 0 });
  // During the pause, late letters already belong to the second pass's text.
  text.take(2, -0.01, frameOf(2));
  assert.equal(text.takeUpdate(), null);
  text.onResumed();
  for (const output of [1, 3, 0]) text.take(output, -0.01, frameOf(output));
  assert.deepEqual(text.takeUpdate(), { text: "аа бб б", stable: 5 });
  assert.equal(text.takeSecondPass("аа бб ба")?.text, "аа бб ба");
});

test("nothing is reported before the first letter", () => {
  const text = heard([0, 1, 0]);
  assert.equal(text.takeUpdate(), null);
  assert.equal(text.takeSecondPass("а"), null);
  assert.equal(text.hasLetters, false);
});

test("only adaptive endpointing waits in mid-sentence", async () => {
  const kept: string[] = [];
  for (const name of ["user-not-avail-menu", "nevernyj-vybor", "enter-conf-pin-number"]) {
    const pcm = joined(silence(0.4), speech(`asterisk-ru-additional/${name}.flac`), silence(1));
    for (const endOfUtteranceMs of [80, 200]) {
      const finals = async (endpointing: "fixed" | "adaptive") => {
        const open = { endOfUtteranceMs, endpointing, wantsPartials: false };
        const { answers } = await stepSession(recognizer, pcm, open);
        return answers.filter(({ type, text }) => type === "final" && text).map(({ text }) => text);
      };
      const [fixed, adaptive] = [await finals("fixed"), await finals("adaptive")];
      assert.ok(adaptive.length <= fixed.length, `${fixed.join(" | ")} / ${adaptive.join(" | ")}`);
      if (adaptive.length < fixed.length) kept.push(adaptive.join(" | "));
    }
  }
  // Whether a pause is within a sentence is judged by the recognized text, which may be wrong.
  assert.ok(kept.length >= 2, `in one piece: ${kept.join(", ")}`);
});
