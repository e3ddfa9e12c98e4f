import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
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
import { joined, silence, speech } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const SPEECH = speech("asterisk-ru-core/conf-getconfno.flac");
const PAUSE = silence(0.6);

/** A real search that ends only when the test allows it. */
class HeldSearch implements TokenSearch {
  asked = 0;
  readonly #search: PrefixBeamSearch;
  #held: (() => void)[] = [];

  constructor(vocabulary: readonly string[]) {
    const weights = { beamWidth: 8, languageModelWeight: 0, characterBonus: 0, wordBonus: 0 };
    this.#search = new PrefixBeamSearch(vocabulary, null, weights);
  }

  search(...input: Parameters<TokenSearch["search"]>): Hypotheses {
    return this.#search.search(...input);
  }

  async searchAside(...[logProbs, frames, hotWords]: Parameters<TokenSearch["search"]>): Promise<Hypotheses> {
    this.asked++;
    await new Promise<void>((resolve) => this.#held.push(resolve));
    return this.search(logProbs, frames, hotWords);
  }

  /** Lets the earliest search end. */
  async let(): Promise<void> {
    this.#held.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

let recognizer: Recognizer;

function stepperWithHeldSearch() {
  const { model } = recognizer;
  const search = new HeldSearch(model.vocabulary);
  const posted: LiveWorkerAnswer[] = [];
  const stepper = new LiveStepper({
    model,
    utterances: new UtteranceDecoder(model, search),
    post: (answer) => posted.push(answer),
    onStep: () => {},
  });
  return { stepper, search, posted };
}

before(async () => {
  recognizer = await recognizerIn(RECOGNIZER_FOLDER);
});
after(() => recognizer.model.release());

test("a slow search delays only its own session's words", async () => {
  const { stepper, search, posted } = stepperWithHeldSearch();
  const [slow, other] = [0, 1].map((session) => {
    const ring = PcmRing.create(2 ** 19);
    stepper.onMessage(liveOpen(session, ring.buffer));
    return ring;
  }) as [PcmRing, PcmRing];
  const untilQuiet = async () => {
    while (await stepper.step());
  };
  /** The results for a session since the last call. */
  const answersOf = (session: number) => {
    const answers = posted.filter((answer) => answer.session === session);
    for (const answer of answers) posted.splice(posted.indexOf(answer), 1);
    return answers.map((answer) =>
      "utterance" in answer ? `${answer.type} ${answer.utterance}` : answer.type,
    );
  };

  slow.write(joined(SPEECH, PAUSE));
  await untilQuiet();
  assert.equal(search.asked, 1);
  assert.deepEqual([...new Set(answersOf(0))], ["partial 0"], "its final waits for the search");

  slow.write(SPEECH);
  other.write(SPEECH);
  await untilQuiet();
  assert.deepEqual(answersOf(0), [], "nothing overtakes a final");
  assert.deepEqual([...new Set(answersOf(1))], ["partial 0"], "others are served meanwhile");

  await search.let();
  assert.deepEqual(answersOf(0), ["final 0"]);
  slow.write(silence(0.04));
  await untilQuiet();
  assert.deepEqual([...new Set(answersOf(0))], ["partial 1"], "the next utterance has the next number");

  stepper.onMessage({ type: "finish", session: 0, atSample: slow.written });
  await untilQuiet();
  assert.equal(search.asked, 2);
  assert.deepEqual(answersOf(0), [], "the end waits for the last final");
  await search.let();
  assert.deepEqual(answersOf(0), ["final 1", "finished"]);
});

test("a session that is closed during its search gets no more messages", async () => {
  const { stepper, search, posted } = stepperWithHeldSearch();
  const ring = PcmRing.create(2 ** 19);
  stepper.onMessage(liveOpen(0, ring.buffer, { wantsPartials: false }));
  ring.write(joined(SPEECH, PAUSE));
  while (await stepper.step());
  assert.equal(search.asked, 1);
  stepper.onMessage({ type: "close", session: 0 });
  await stepper.step();
  await search.let();
  assert.deepEqual(posted, []);
});

test("audio after a finalize mark is not decoded before the mark arrives", async () => {
  const cut = Math.floor(SPEECH.length / 2);
  const finals: LiveWorkerAnswer[][] = [];
  for (const isLate of [false, true]) {
    const posted: LiveWorkerAnswer[] = [];
    const stepper = new LiveStepper({
      ...recognizer,
      post: (answer) => posted.push(answer),
      onStep: () => {},
    });
    const untilQuiet = async () => {
      while (await stepper.step());
    };
    const ring = PcmRing.create(2 ** 19);
    stepper.onMessage(liveOpen(0, ring.buffer, { wantsPartials: false }));
    const mark = () => stepper.onMessage({ type: "finalize", session: 0, atSample: cut });
    ring.write(SPEECH.subarray(0, cut));
    ring.marks = 1;
    if (!isLate) mark();
    ring.write(joined(SPEECH.subarray(cut), PAUSE));
    await untilQuiet();
    if (isLate) {
      assert.deepEqual(posted, []);
      mark();
      await untilQuiet();
    }
    await eventually("two finals", () => posted.filter(({ type }) => type === "final").length >= 2);
    finals.push(posted);
  }
  assert.deepEqual(
    finals[0]?.map(({ type }) => type),
    ["final", "finalized", "final"],
  );
  assert.deepEqual(
    finals[0]?.map((answer) => answer.type === "final" && answer.isFromFinalize === true),
    [true, false, false],
  );
  assert.deepEqual(finals[1], finals[0]);
});
