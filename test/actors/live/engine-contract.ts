import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decideLive } from "../../../actors/live/decision.js";
import type { LiveEngine, LiveEngineOptions } from "../../../actors/live/engine.js";
import { type LiveState, NEW_SESSION } from "../../../actors/live/state.js";
import { cut, joined, noise, RATE_HZ, silence, speech, tone } from "../../support/audio.js";
import { eventually } from "../../support/eventually.js";
import { FaultOrders } from "../../support/faulty/orders.js";
import { type Final, finalsOf, LiveListener } from "../../support/live-listener.js";
import { pace } from "../../support/pace.js";
import * as fc from "../../support/properties.js";
import { DIALOGUE, isReady, KAZAKH, RUSSIAN, STATES, textOf } from "./session-states.js";

const BACKLOG_SECONDS = 60;
const FRAME_SAMPLES = 640;

/** Tests the engine's contract, wherever its workers run. */
export function liveEngineContract(
  place: string,
  makeEngine: (changes?: Partial<LiveEngineOptions>) => Promise<LiveEngine>,
): void {
  describe(`the live engine over ${place}`, () => {
    const orders = new FaultOrders();
    let engine: LiveEngine;
    let dialogueFinals: Final[];

    before(async () => {
      engine = await makeEngine();
      await engine.start();
      dialogueFinals = await finalsOf(engine, [DIALOGUE]);
    });

    after(async () => {
      assert.equal(engine.sessionCount, 0, "every session was given back");
      await engine.stop();
    });

    test("finals arrive in order, each with words in session time", () => {
      assert.ok(dialogueFinals.length >= 2, `${dialogueFinals.length} finals`);
      let lastEnd = 0;
      for (const [index, { utterance, text, words, startSample, endSample }] of dialogueFinals.entries()) {
        assert.equal(utterance, index);
        assert.equal(words.map(({ word }) => word).join(" "), text);
        assert.ok(
          startSample >= lastEnd && startSample <= endSample,
          `${lastEnd} ${startSample} ${endSample}`,
        );
        assert.ok(endSample <= DIALOGUE.length + FRAME_SAMPLES);
        lastEnd = endSample;
      }
    });

    test("finals do not depend on how the audio was cut", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 4_800 }), { minLength: 1, maxLength: 40 }),
          async (sizes) => {
            assert.deepEqual(await finalsOf(engine, cut(DIALOGUE, sizes)), dialogueFinals);
          },
        ),
        // Each run decodes nine seconds of speech, so six runs are enough.
        { numRuns: 6, endOnFailure: true },
      );
    });

    test("text sent as final is never sent again, and partials belong to the next utterance", async () => {
      const listener = new LiveListener(engine);
      await listener.writeAll(cut(DIALOGUE, [1_600]));
      await listener.finish();
      let finalCount = 0;
      for (const event of listener.events) {
        if (event.type === "final") assert.equal(event.utterance, finalCount++);
        if (event.type === "partial") assert.equal(event.utterance, finalCount);
      }
      assert.ok(finalCount > 0);
      assert.equal(listener.events[0]?.type, "ready");
      assert.equal(listener.events.at(-1)?.type, "finished");
    });

    for (const withFault of [false, true]) {
      test(`partials only grow until their final${withFault ? ", also over a lost worker" : ""}`, async () => {
        const listener = new LiveListener(engine);
        const half = DIALOGUE.length / 3;
        // If audio arrives faster than it is decoded, it is decoded in few steps, which give few partials.
        for (const [from, to] of [
          [0, half / 2],
          [half / 2, half],
        ] as const) {
          await listener.writeAll(cut(DIALOGUE.subarray(from, to), [1_600]));
          await listener.seen((event) => event.type === "partial" && event.endSample > from);
        }
        if (withFault) orders.failAll("live");
        await listener.writeAll(cut(DIALOGUE.subarray(half), [1_600]));
        await listener.finish();
        let state: LiveState = NEW_SESSION;
        let [utterance, promised, partialCount] = [0, "", 0];
        for (const event of listener.events) {
          const decision = decideLive(state, { type: "event", event }, RATE_HZ);
          state = decision.state;
          if (event.type === "final") [utterance, promised] = [event.utterance + 1, ""];
          for (const effect of decision.effects) {
            if (effect.type !== "send-event" || effect.event.type !== "partial") continue;
            assert.equal(effect.event.utterance, utterance);
            assert.ok(effect.event.text.startsWith(promised), `"${effect.event.text}" after "${promised}"`);
            promised = [...effect.event.text].slice(0, effect.event.stable).join("");
            partialCount++;
          }
        }
        const told = listener.events.filter((event) => event.type === "partial").length;
        assert.ok(partialCount > 1, `${partialCount} partials`);
        // With a single worker nothing is withheld, because the greedy text of a causal encoder never
        // changes.
        if (!withFault) assert.equal(partialCount, told);
      });
    }

    test("hot words affect only their session", async () => {
      const recording = joined(silence(0.3), speech("asterisk-ru-core/conf-lockednow.flac"), silence(0.5));
      const hotWords = ["конференция", "закрыта"].map((text) => ({ text, characterScore: 1 }));
      const [expecting, other] = [new LiveListener(engine, { hotWords }), new LiveListener(engine)];
      await Promise.all([expecting.writeAll([recording]), other.writeAll([recording])]);
      await Promise.all([expecting.finish(), other.finish()]);
      assert.equal(expecting.text, "эта конференция теперь закрыта");
      assert.notEqual(other.text, expecting.text);
    });

    test("hot words of the highest score put nothing into silence, noise and tones", async () => {
      const hotWords = ["а", "не", "сәлем", "конференция"].map((text) => ({ text, characterScore: 5 }));
      const audio = joined(silence(1), noise(2, 0.01), tone(2, [440, 660]), silence(1));
      assert.deepEqual(
        (await finalsOf(engine, cut(audio, [1_600]), { hotWords })).filter(({ text }) => text !== ""),
        [],
      );
    });

    test("a client that wants no partials gets the same finals and no partial", async () => {
      const listener = new LiveListener(engine, { wantsPartials: false });
      await listener.writeAll(cut(DIALOGUE, [1_600]));
      await listener.finish();
      assert.equal(listener.events.filter((event) => event.type === "partial").length, 0);
      assert.deepEqual(
        listener.finals.filter(({ text }) => text !== ""),
        dialogueFinals.filter(({ text }) => text !== "").map((final, utterance) => ({ ...final, utterance })),
      );
    });

    test("two concurrent sessions do not change each other's finals", async () => {
      const alone = await finalsOf(engine, [RUSSIAN]);
      const [first, second] = [new LiveListener(engine), new LiveListener(engine)];
      assert.equal(engine.sessionCount, 2);
      const firstPieces = cut(DIALOGUE, [1_280, 900]);
      const secondPieces = cut(RUSSIAN, [640, 2_000]);
      for (let index = 0; index < firstPieces.length; index++) {
        await first.writeAll(firstPieces.slice(index, index + 1));
        await second.writeAll(secondPieces.slice(index, index + 1));
        if (index % 4 === 0) await pace(1);
      }
      await Promise.all([first.finish(), second.finish()]);
      assert.deepEqual(first.finals, dialogueFinals);
      assert.deepEqual(second.finals, alone);
    });

    test("a client that finishes in the middle of a word gets the words before it", async () => {
      const middle = KAZAKH.subarray(0, 2.2 * RATE_HZ);
      const listener = new LiveListener(engine);
      await listener.writeAll(cut(middle, [1_600]));
      const ending = await listener.finish();
      assert.equal(ending.type, "finished");
      assert.notEqual(listener.text, "");
      assert.ok(listener.finals.at(-1)!.endSample <= middle.length + FRAME_SAMPLES);
    });

    test("finalize ends the utterance immediately, and speech continues in the next one", async () => {
      const listener = new LiveListener(engine);
      const half = KAZAKH.subarray(0, 2.2 * RATE_HZ);
      await listener.writeAll([half]);
      listener.feed.finalize();
      const first = (await listener.seen((event) => event.type === "final")) as Final;
      assert.equal(first.utterance, 0);
      assert.ok(first.endSample <= half.length + FRAME_SAMPLES, "nothing after the mark belongs to it");
      await listener.writeAll([KAZAKH.subarray(half.length), silence(0.5)]);
      await listener.finish();
      assert.ok(listener.finals.length > 1);
      assert.ok(listener.finals[1]!.startSample >= first.endSample - FRAME_SAMPLES);
    });

    test("finalize ends at the same word for any cut of the audio", async () => {
      const half = KAZAKH.subarray(0, 2.2 * RATE_HZ);
      const finalized = async (sizes: readonly number[]) => {
        const listener = new LiveListener(engine);
        await listener.writeAll(cut(half, sizes));
        listener.feed.finalize();
        await listener.writeAll(cut(KAZAKH.subarray(half.length), sizes));
        await listener.finish();
        return listener.finals;
      };
      const expected = await finalized([half.length]);
      for (const sizes of [[333], [4_800, 17]]) assert.deepEqual(await finalized(sizes), expected);
    });

    test("each finalize is answered once, after the finals before it, even in silence", async () => {
      const listener = new LiveListener(engine);
      await listener.writeAll([silence(0.5)]);
      listener.feed.finalize();
      await listener.writeAll([KAZAKH.subarray(0, 2.2 * RATE_HZ)]);
      listener.feed.finalize();
      await listener.seen(() => listener.events.filter(({ type }) => type === "finalized").length === 2);
      const order = listener.events.filter(({ type }) => type === "final" || type === "finalized");
      assert.deepEqual(
        order.map(({ type }) => type),
        ["finalized", "final", "finalized"],
      );
      await listener.finish();
    });

    test("only the final that a finalize ended reports it, however fast the audio came", async () => {
      // In the middle of the words, and after the pause that has ended their utterance.
      for (const [seconds, isEnded] of [
        [1.5, true],
        [2.2, false],
      ] as const) {
        const listener = new LiveListener(engine);
        await listener.writeAll([DIALOGUE, KAZAKH.subarray(0, seconds * RATE_HZ)]);
        listener.feed.finalize();
        await listener.writeAll([KAZAKH]);
        await listener.seen(({ type }) => type === "finalized");
        const before = listener.finals.length;
        await listener.finish();
        assert.equal(before, dialogueFinals.length + 1);
        assert.ok(listener.finals.length > before, "the end of the audio is no finalize");
        assert.deepEqual(
          listener.finals.map(({ isFromFinalize }) => isFromFinalize === true),
          listener.finals.map((_, nth) => isEnded && nth === before - 1),
        );
      }
    });

    test("finalize in silence has no effect", async () => {
      const listener = new LiveListener(engine);
      listener.feed.finalize();
      await listener.writeAll([silence(1)]);
      listener.feed.finalize();
      listener.feed.finalize();
      await listener.writeAll([DIALOGUE]);
      await listener.finish();
      const withoutFinalize = await finalsOf(engine, [silence(1), DIALOGUE]);
      assert.equal(textOf(listener.finals), textOf(withoutFinalize));
    });

    for (const [name, pcm] of [
      ["silence", silence(4)],
      ["a faint hiss", noise(4, 0.0005)],
      ["a dial tone", joined(silence(0.5), tone(2.5, [425]), silence(1))],
      [
        "a row of dialled digits",
        joined(...Array<Int16Array>(8).fill(joined(tone(0.1, [770, 1_336]), silence(0.1)))),
      ],
    ] as const) {
      test(`${name} gives no text`, async () => {
        assert.equal(textOf(await finalsOf(engine, cut(pcm, [1_600]))).trim(), "");
      });
    }

    test("a session without any audio finishes", async () => {
      assert.deepEqual(await finalsOf(engine, []), []);
    });

    test("a backlog of 60 s accepts no more samples", async () => {
      const minute = BACKLOG_SECONDS * RATE_HZ;
      /**
       * Returns false if the worker took audio before this thread, suspended on a busy machine, checked
       * again.
       */
      const isFullThenHasRoom = async () => {
        const listener = new LiveListener(engine);
        assert.equal(listener.feed.write(silence(BACKLOG_SECONDS + 1)), minute);
        const more = listener.feed.write(silence(1));
        assert.equal(engine.sessionCount, 1);
        // Once some of the audio has been decoded, there is room for that much again.
        await listener.seen(isReady);
        let taken = 0;
        await eventually("there is room again", () => {
          taken = listener.feed.write(silence(BACKLOG_SECONDS));
          return taken > 0;
        });
        listener.feed.release();
        return more === 0 && taken < minute;
      };
      await eventually("the backlog is full, then has room", isFullThenHasRoom);
    });

    test("lateness is the waiting audio of the session that is furthest behind", async () => {
      const starting = await makeEngine();
      const [first, second] = [new LiveListener(starting), new LiveListener(starting)];
      assert.equal(starting.lateSeconds, 0);
      first.feed.write(silence(1));
      second.feed.write(silence(2));
      assert.equal(starting.lateSeconds, 2);
      await starting.start();
      await eventually("the audio is stepped", () => starting.lateSeconds < 0.04);
      for (const listener of [first, second]) await listener.finish();
      await starting.stop();
    });

    test("a longest utterance is cut, and partials of the next begin at the cut", async () => {
      // Pauses in the recordings are shorter than the threshold, so only the length ends an utterance.
      const listener = new LiveListener(engine, { endOfUtteranceMs: 2_000 });
      // The best gap within 30 s is seconds before the end.
      const endless = joined(...Array<Int16Array>(10).fill(KAZAKH)).subarray(3 * RATE_HZ);
      await listener.writeAll(cut(endless.subarray(0, 31 * RATE_HZ), [1_600]));
      const first = (await listener.seen((event) => event.type === "final")) as Final;
      // While a final is searched for, its session sends no partials.
      await listener.writeAll(cut(endless.subarray(31 * RATE_HZ), [1_600]));
      await listener.finish();
      assert.ok(first.endSample > 24 * RATE_HZ && first.endSample <= 30 * RATE_HZ);
      const next = listener.events.find((event) => event.type === "partial" && event.utterance === 1);
      assert.ok(next?.type === "partial");
      const seconds = (next.endSample - next.startSample) / RATE_HZ;
      assert.ok(seconds > 1, `the cut is ${seconds} s before the first partial after it`);
      // Half of it may be the pause in which it was cut. Half a second of speech, the amount kept in the
      // past, is
      // about five letters.
      assert.ok(next.text.length > 4 * seconds, `${next.text} in ${seconds} s`);
    });

    test("sessions that speak are spread over the workers, and those that do not take none", async () => {
      const pair = await makeEngine({ workerCount: 2 });
      await pair.start();
      const silent = Array.from({ length: 8 }, () => new LiveListener(pair));
      for (const listener of silent) await listener.seen(isReady);
      assert.deepEqual(pair.laneLoads, [0, 0]);
      const speaking = Array.from({ length: 4 }, () => new LiveListener(pair));
      for (const listener of speaking) await listener.writeAll(cut(RUSSIAN, [1_600]));
      assert.deepEqual(pair.laneLoads, [2, 2]);
      const alone = await finalsOf(engine, [RUSSIAN]);
      for (const listener of speaking) {
        await listener.finish();
        assert.deepEqual(listener.finals, alone);
      }
      for (const listener of silent) await listener.finish();
      assert.deepEqual([pair.sessionCount, ...pair.laneLoads], [0, 0, 0]);
      await pair.stop();
    });

    test("audio after finish is not accepted", async () => {
      const listener = new LiveListener(engine);
      await listener.writeAll([RUSSIAN]);
      listener.feed.finish();
      assert.equal(listener.feed.write(RUSSIAN), 0);
      listener.feed.finish();
      await listener.finish();
      assert.equal(listener.events.filter((event) => event.type === "finished").length, 1);
    });

    for (const [state, reach] of STATES) {
      test(`a session released ${state} frees its slot and gets no more events`, async () => {
        const listener = new LiveListener(engine);
        await reach(listener);
        listener.feed.release();
        listener.feed.release();
        assert.equal(engine.sessionCount, 0);
        const eventCount = listener.events.length;
        assert.equal(listener.feed.write(KAZAKH), 0);
        listener.feed.finalize();
        listener.feed.finish();
        // Another session opens and ends on the same worker in the meantime.
        assert.deepEqual(
          await finalsOf(engine, [RUSSIAN.subarray(0, RATE_HZ)]).then(textOf),
          await beginOfRussian(),
        );
        assert.equal(listener.events.length, eventCount);
      });
    }

    let russianBegin: string | undefined;
    /** Transcribes the first second of the recording in a separate session. */
    async function beginOfRussian(): Promise<string> {
      russianBegin ??= textOf(await finalsOf(engine, [RUSSIAN.subarray(0, RATE_HZ)]));
      return russianBegin;
    }
  });
}
