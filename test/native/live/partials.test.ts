// Letters are output about 0.18 s after they are spoken; the last ones once appeared in the next utterance's
// partials.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { groupBy } from "../../../bench/evaluate/group-by.js";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { joinedStream, SAMPLE_RATE_HZ, speechOf } from "../../../bench/support/spoken-stream.js";
import {
  type Hypotheses,
  PrefixBeamSearch,
  type TokenSearch,
} from "../../../core/domain/decoding/prefix-beam-search.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer } from "../../../native/threads/protocol.js";
import { joined, silence, speech, tone } from "../../support/audio.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const FRAME_SAMPLES = 640;
/** No letter is output this soon after its utterance's first sound. */
const SOONEST_FRAMES = 2;
/** All of these end in letters that are output after the speech. */
const NUMBERS = ["digits_19", "digits_16", "digits_10", "digits_18", "dictate_record", "digits_13"];
const RECORDINGS = NUMBERS.map((name) => speechOf(speech(`asterisk-ru-core/${name}.flac`)));
/** A Kazakh sentence of several parts, with pauses of 0.2 s between them. */
const KAZAKH = speech("kazakh-speech-commands/example_1.flac");

type Partial = Extract<LiveWorkerAnswer, { type: "partial" }>;
type Final = Extract<LiveWorkerAnswer, { type: "final" }>;

interface Transcribed {
  readonly partials: readonly Partial[];
  readonly finals: readonly Final[];
}

interface Hearing {
  readonly eouMs?: number;
  /** The sizes of messages in samples, used in turn. */
  readonly sizes?: readonly number[];
  /** The positions at which the client sends `finalize`. */
  readonly marks?: readonly number[];
  /** The position at which the worker continues, if not at the beginning. */
  readonly from?: Pick<Final, "resume" | "utterance">;
}

/** A real search that ends in the same turn in which it is requested. */
class PromptSearch implements TokenSearch {
  readonly #search: PrefixBeamSearch;

  constructor(vocabulary: readonly string[]) {
    const weights = { beamWidth: 8, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
    this.#search = new PrefixBeamSearch(vocabulary, null, weights);
  }

  search(...input: Parameters<TokenSearch["search"]>): Hypotheses {
    return this.#search.search(...input);
  }

  searchAside(...input: Parameters<TokenSearch["search"]>): Promise<Hypotheses> {
    return Promise.resolve(this.search(...input));
  }
}

let recognizer: Recognizer;
before(async () => {
  recognizer = await recognizerIn(RECOGNIZER_FOLDER);
});
after(() => recognizer.model.release());

/**
 * The messages of a live worker about a session. The worker decodes each message before the next one arrives.
 */
async function transcribed(pcm: Int16Array, hearing: Hearing = {}): Promise<Transcribed> {
  const { eouMs = 200, sizes = [FRAME_SAMPLES], marks = [], from } = hearing;
  const answers: LiveWorkerAnswer[] = [];
  const { model } = recognizer;
  const utterances = new UtteranceDecoder(model, new PromptSearch(model.vocabulary));
  const stepper = new LiveStepper({
    model,
    utterances,
    post: (answer) => answers.push(answer),
    onStep: () => {},
  });
  const ring = PcmRing.create(2 ** 19);
  stepper.onMessage(
    liveOpen(0, ring.buffer, {
      endOfUtteranceMs: eouMs,
      ...(from !== undefined && { from: from.resume, nextUtterance: from.utterance + 1 }),
    }),
  );
  const untilQuiet = async () => {
    while (await stepper.step());
    // Messages that waited for a finished search arrive in a separate turn.
    await new Promise((resolve) => setImmediate(resolve));
  };
  let written = 0;
  for (let index = 0; written < pcm.length; index++) {
    const mark = marks.find((sample) => sample > written) ?? pcm.length;
    const end = Math.min(written + sizes[index % sizes.length]!, mark, pcm.length);
    ring.write(pcm.subarray(written, end));
    written = end;
    if (end === mark && marks.includes(mark)) {
      ring.marks++;
      stepper.onMessage({ type: "finalize", session: 0, atSample: mark });
    }
    await untilQuiet();
  }
  stepper.onMessage({ type: "finish", session: 0, atSample: pcm.length });
  await untilQuiet();
  assert.equal(answers.at(-1)?.type, "finished");
  return {
    partials: answers.filter((answer) => answer.type === "partial"),
    finals: answers.filter((answer) => answer.type === "final"),
  };
}

/** The partials of each utterance that has any, by utterance number. */
function byUtterance(partials: readonly Partial[]): Map<number, Partial[]> {
  return groupBy(partials, ({ utterance }) => utterance);
}

/** The last partial of each utterance. */
function lastTexts({ partials }: Transcribed): string[] {
  return [...byUtterance(partials).values()].map((own) => own.at(-1)!.text);
}

/** Asserts that no utterance shows letters before its own first letter can have been output. */
function assertOwnLetters({ partials }: Transcribed, onsets: readonly number[]): void {
  const utterances = byUtterance(partials);
  // If the threshold nearly equals the pause, one of the pauses may be too short.
  assert.ok(utterances.size >= onsets.length - 1, `${utterances.size} utterances`);
  for (const [first] of utterances.values()) {
    const { text, endSample } = first!;
    const onset = onsets.findLast((sample) => sample < endSample)!;
    const afterFrames = (endSample - onset) / FRAME_SAMPLES;
    assert.ok(afterFrames > SOONEST_FRAMES, `"${text}" ${afterFrames} frames after the onset`);
  }
}

for (const eouMs of [100, 200]) {
  for (const pauseMs of [210, 260, 400]) {
    test(`after a pause of ${pauseMs} ms partials begin with their own letters (eou_ms ${eouMs})`, async () => {
      const stream = joinedStream(RECORDINGS, (pauseMs / 1_000) * SAMPLE_RATE_HZ);
      const onsets = stream.utterances.map(({ onsetSample }) => onsetSample);
      assertOwnLetters(await transcribed(stream.pcm, { eouMs }), onsets);
    });
  }
}

test("partials contain the utterance's own letters, regardless of the audio before it", async () => {
  const alone: string[] = [];
  for (const recording of RECORDINGS) {
    alone.push(...lastTexts(await transcribed(joinedStream([recording], 0.5 * SAMPLE_RATE_HZ).pcm)));
  }
  const { pcm } = joinedStream(RECORDINGS, 0.26 * SAMPLE_RATE_HZ);
  const after = lastTexts(await transcribed(pcm));
  assert.equal(after.length, alone.length);
  // Earlier audio may change a letter (ч for ш), but hardly ever the first one.
  const changed = after.filter((text, i) => text[0] !== alone[i]![0]);
  assert.ok(changed.length <= 1, `${after.join(" | ")} / ${alone.join(" | ")}`);
});

test("an utterance without speech shows no letters of the previous one", async () => {
  const hum = joined(silence(0.4), RECORDINGS[0]!, silence(0.26), tone(0.12, [200]), silence(1));
  const { partials, finals } = await transcribed(hum);
  assert.equal(finals[0]?.utterance, 0);
  assert.deepEqual(
    partials.filter(({ utterance }) => utterance > 0),
    [],
  );
});

test("the last partial does not depend on how the audio is chunked", async () => {
  const { pcm } = joinedStream([...RECORDINGS, KAZAKH], 0.26 * SAMPLE_RATE_HZ);
  const byFrame = await transcribed(pcm);
  const texts = new Set(byFrame.partials.map(({ utterance, text }) => `${utterance} ${text}`));
  for (const sizes of [[1_600], [4_800, 17, 333], [10_240]]) {
    const heard = await transcribed(pcm, { sizes });
    assert.deepEqual(heard.finals, byFrame.finals);
    assert.deepEqual(lastTexts(heard), lastTexts(byFrame));
    for (const { utterance, text } of heard.partials) assert.ok(texts.has(`${utterance} ${text}`), text);
  }
});

test("a worker that continues after a final sends the same partials", async () => {
  const { pcm } = joinedStream(RECORDINGS, 0.26 * SAMPLE_RATE_HZ);
  const whole = await transcribed(pcm);
  for (const from of whole.finals.slice(0, -1)) {
    const replayed = await transcribed(pcm, { from });
    const later = whole.partials.filter(({ utterance }) => utterance > from.utterance);
    // A letter in the middle may differ with less context, as `stablePartial` explains.
    const shownOf = (partials: readonly Partial[]) =>
      [...byUtterance(partials)].map(([utterance, [first]]) => [utterance, first?.text, first?.endSample]);
    assert.deepEqual(shownOf(replayed.partials), shownOf(later));
  }
});

test("a finalize mark in mid-speech leaves earlier letters in the utterance before it", async () => {
  for (const second of [1.3, 1.7, 2.2, 2.6, 3.9]) {
    const mark = Math.round(second * SAMPLE_RATE_HZ);
    const { partials, finals } = await transcribed(KAZAKH, { eouMs: 800, marks: [mark] });
    const [, next] = [...byUtterance(partials).values()];
    const behindFrames = (next![0]!.endSample - mark) / FRAME_SAMPLES;
    // The delay of 0.18 s, plus the frame that outputs a letter.
    assert.ok(behindFrames > 5, `"${next![0]!.text}" ${behindFrames} frames after the mark at ${second} s`);
    assert.equal(finals.length, 2);
  }
});

test("the last letters before a finalize mark are shown, although they are output after it", async () => {
  const [recording] = RECORDINGS;
  const spoken = joined(silence(0.4), recording!);
  const whole = lastTexts(await transcribed(joined(spoken, silence(0.6))));
  const marked = lastTexts(await transcribed(joined(spoken, silence(0.6)), { marks: [spoken.length] }));
  assert.deepEqual(marked, whole);
});
