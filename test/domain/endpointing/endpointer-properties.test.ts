import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndpointEvent, Endpointer } from "../../../core/domain/endpointing/endpointer.js";
import type { SpeakerState } from "../../../core/domain/endpointing/speaker-level.js";
import * as fc from "../../support/properties.js";

const anyFrames = fc
  .array(fc.tuple(fc.constantFrom(0.05, 0.3, 0.47, 0.6, 0.95), fc.integer({ min: 1, max: 14 })), {
    maxLength: 40,
  })
  .map((runs) => runs.flatMap(([probability, count]) => Array<number>(count).fill(probability)));
const anyOptions = fc.record({
  pauseFrames: fc.integer({ min: 1, max: 12 }),
  leadFrames: fc.integer({ min: 0, max: 9 }),
  cutWindowFrames: fc.integer({ min: 1, max: 12 }),
  longestFrames: fc.integer({ min: 25, max: 60 }),
});

/** Straightforward implementation of the two thresholds. */
function speechFlags(frames: readonly number[]): boolean[] {
  let isSpeech = false;
  return frames.map((probability) => {
    isSpeech = isSpeech ? probability >= 0.3 : probability >= 0.5;
    return isSpeech;
  });
}

test("utterances keep their invariants for any speech", () => {
  fc.assert(
    fc.property(
      anyFrames,
      anyOptions,
      fc.array(fc.nat(300), { maxLength: 3 }),
      (frames, options, finalizeAfter) => {
        const endpointer = new Endpointer(options);
        const events: EndpointEvent[] = [];
        let needed = 0;
        for (const [frame, probability] of frames.entries()) {
          const now = [
            ...endpointer.push(probability),
            ...(finalizeAfter.includes(frame) ? endpointer.finalizeNow() : []),
          ];
          for (const event of now)
            assert.ok(event.startFrame >= needed, "audio that was given up is asked for");
          needed = Math.max(needed, endpointer.earliestNeededFrame);
          events.push(...now);
        }
        events.push(...endpointer.finalizeNow());
        const ended = events.filter((event) => event.type === "ended");
        const started = events.filter((event) => event.type === "started");
        assert.deepEqual(
          started.map((event) => event.utterance),
          started.map((_, i) => i),
        );
        assert.deepEqual(
          ended.map((event) => event.utterance),
          started.map((event) => event.utterance),
        );
        let previousEnd = 0;
        for (const { startFrame, endFrame } of ended) {
          assert.ok(startFrame >= previousEnd && endFrame > startFrame, "utterances overlap or are empty");
          assert.ok(endFrame - startFrame <= options.longestFrames, "too long");
          previousEnd = endFrame;
        }
        const flags = speechFlags(frames);
        for (const [frame, isSpeech] of flags.entries()) {
          if (!isSpeech || !(flags[frame - 1] || flags[frame + 1])) continue;
          const owners = ended.filter((event) => event.startFrame <= frame && frame < event.endFrame).length;
          assert.equal(owners, 1, `speech frame ${frame} is in ${owners} utterances`);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("each utterance reports its events in order", () => {
  fc.assert(
    fc.property(anyFrames, anyOptions, (frames, options) => {
      const endpointer = new Endpointer(options);
      const story = frames
        .flatMap((probability) => endpointer.push(probability))
        .map((event) => event.type[0])
        .join("");
      // started, then alternately halfway and resumed, then ended.
      assert.match(story, /^(s(hr)*h?e)*(s(hr)*h?)?$/);
    }),
  );
});

test("an endpointer that starts where an utterance ended finds the same later utterances", () => {
  fc.assert(
    fc.property(
      anyFrames,
      anyOptions,
      fc.array(fc.nat(300), { maxLength: 3 }),
      (frames, options, finalizeAfter) => {
        /** Ends found from `first` on, in order of detection. */
        const endsFrom = (first: number, isMidSpeech: boolean, doneFinalizing: number) => {
          const endpointer = new Endpointer(options, isMidSpeech);
          const ends: { start: number; end: number; isMidSpeech: boolean; finalizedAt: number }[] = [];
          for (let frame = first; frame < frames.length; frame++) {
            const events = [...endpointer.push(frames[frame]!)];
            if (finalizeAfter.includes(frame) && frame > doneFinalizing)
              events.push(...endpointer.finalizeNow());
            for (const event of events) {
              if (event.type !== "ended") continue;
              const { startFrame, endFrame, isMidSpeech, reason } = event;
              // An end caused by the frame itself precedes a finalize after the frame.
              const finalizedAt = reason === "finalize" ? frame : frame - 1;
              ends.push({ start: startFrame + first, end: endFrame + first, isMidSpeech, finalizedAt });
            }
          }
          return ends;
        };
        const whole = endsFrom(0, false, -1);
        for (const [index, { end, isMidSpeech, finalizedAt }] of whole.entries()) {
          assert.deepEqual(endsFrom(end, isMidSpeech, finalizedAt), whole.slice(index + 1));
        }
      },
    ),
    {
      numRuns: 300,
      // In the same frame, an utterance of the maximum length is cut and the rest finalized.
      examples: [
        [
          [0.6, 0.47, 0.47, ...Array<number>(28).fill(0.6)],
          { pauseFrames: 1, leadFrames: 0, cutWindowFrames: 1, longestFrames: 30 },
          [30],
        ],
      ],
    },
  );
});

/** Runs of frames of one kind: silence, a near voice, a background voice, with and without letters. */
const anyRoom = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        { probability: 0.05, levelDb: -70, hasLetter: false },
        { probability: 0.95, levelDb: -30, hasLetter: true },
        { probability: 0.95, levelDb: -30, hasLetter: false },
        { probability: 0.7, levelDb: -44, hasLetter: true },
        { probability: 0.7, levelDb: -39, hasLetter: true },
        { probability: 0.9, levelDb: -52, hasLetter: false },
        { probability: 0.47, levelDb: -36, hasLetter: false },
      ),
      fc.integer({ min: 1, max: 25 }),
    ),
    { maxLength: 30 },
  )
  .map((runs) => runs.flatMap(([frame, count]) => Array<typeof frame>(count).fill(frame)));

const anyLiveOptions = fc.record({
  wordlessFrames: fc.integer({ min: 5, max: 20 }),
  doubtLimit: fc.integer({ min: 3, max: 40 }),
});

test("an endpointer that begins where an utterance ended, with its speaker, continues as the first did", () => {
  fc.assert(
    fc.property(anyRoom, anyOptions, anyLiveOptions, (frames, options, liveOptions) => {
      const endsFrom = (first: number, isMidSpeech: boolean, speaker: SpeakerState | null) => {
        const endpointer = new Endpointer({ ...options, ...liveOptions }, isMidSpeech, null, speaker);
        return frames.slice(first).flatMap(({ probability, ...heard }) =>
          endpointer.push(probability, heard).flatMap((event) => {
            if (event.type !== "ended") return [];
            const { startFrame, endFrame, isMidSpeech: isMid, reason, hasLetters } = event;
            const own = { start: startFrame + first, end: endFrame + first, isMidSpeech: isMid };
            return [{ ...own, reason, hasLetters, speaker: event.speaker }];
          }),
        );
      };
      const whole = endsFrom(0, false, null);
      for (const [index, { end, isMidSpeech, speaker }] of whole.entries()) {
        assert.deepEqual(endsFrom(end, isMidSpeech, speaker), whole.slice(index + 1));
      }
    }),
    { numRuns: 1_000 },
  );
});
