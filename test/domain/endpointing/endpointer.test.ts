import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type EndpointEvent,
  Endpointer,
  type EndpointerOptions,
  type HeardFrame,
  pauseFramesFor,
} from "../../../core/domain/endpointing/endpointer.js";
import { patienceAfter } from "../../../core/domain/endpointing/patience.js";
import { DISTANT_DOUBT, type SpeakerState } from "../../../core/domain/endpointing/speaker-level.js";
import * as fc from "../../support/properties.js";

/** One letter per frame: `#` is speech, `.` is silence, `~` is between the thresholds. */
const PROBABILITY: Readonly<Record<string, number>> = { "#": 0.9, ".": 0.05, "~": 0.47 };

function eventsOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter, frame) =>
    endpointer.push(PROBABILITY[letter]!).map((event) => `${frame} ${say(event)}`),
  );
}

function say(event: EndpointEvent): string {
  const end = "endFrame" in event ? `-${event.endFrame}` : "";
  const reason = event.type === "ended" ? ` ${event.reason}` : "";
  return `${event.type} #${event.utterance} ${event.startFrame}${end}${reason}`;
}

/** Returns events with their mean probability of speech, in hundredths. */
function meansOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter) =>
    endpointer
      .push(PROBABILITY[letter]!)
      .flatMap((event) =>
        "speechMean" in event ? [`${event.type} ${Math.round(100 * event.speechMean)}`] : [],
      ),
  );
}

test("the mean probability of speech covers the frames from the first with speech to the end", () => {
  assert.deepEqual(meansOf("####......."), ["halfway 90", "ended 90"]);
  // There is one doubtful frame inside. Silence before the onset and after the end does not count.
  assert.deepEqual(meansOf("..##~##......"), ["halfway 81", "ended 81"]);
  // If speech resumes, the silence in between is included.
  assert.deepEqual(meansOf("####...####......"), ["halfway 90", "halfway 67", "ended 67"]);
});

test("a cut utterance's mean covers the frames before the cut; the next one's covers its own", () => {
  const options = { longestFrames: 30, cutWindowFrames: 10, leadFrames: 2, openingFrames: 2 };
  const endpointer = new Endpointer(options);
  const ended: EndpointEvent[] = [];
  for (let frame = 0; frame < 60; frame++) {
    const probability = frame === 27 ? 0.5 : frame < 45 ? 1 : 0;
    ended.push(...endpointer.push(probability).filter(({ type }) => type === "ended"));
  }
  const means = ended.map(
    (event) => event.type === "ended" && [event.startFrame, event.endFrame, event.speechMean],
  );
  assert.deepEqual(means, [
    [0, 27, 1],
    [27, 45, 17.5 / 18],
  ]);
});

test("the mean does not depend on how much came before the utterance", () => {
  const said = "..##~##....";
  const late = meansOf(`${"#....#~~....".repeat(40)}..............${said}`).at(-1);
  assert.equal(late, meansOf(`..............${said}`).at(-1));
});

test("an utterance opens with its second speech frame and starts before the first", () => {
  assert.deepEqual(eventsOf("..........##"), ["11 started #0 2"]);
});

test("an utterance at the very start begins at frame 0", () => {
  assert.deepEqual(eventsOf("...##"), ["4 started #0 0"]);
});

test("a single speech frame counts as a click", () => {
  assert.deepEqual(eventsOf("....#....#.....#.......#"), []);
});

test("reports halfway at half of the pause, and the end at all of it", () => {
  assert.deepEqual(eventsOf("####......."), ["1 started #0 0", "6 halfway #0 0-4", "8 ended #0 0-4 pause"]);
});

test("speech after halfway resumes, and the next pause reports halfway again", () => {
  assert.deepEqual(eventsOf("####...##....."), [
    "1 started #0 0",
    "6 halfway #0 0-4",
    "7 resumed #0 0",
    "11 halfway #0 0-9",
    "13 ended #0 0-9 pause",
  ]);
});

test("speech in the last frame before the end still resumes", () => {
  assert.deepEqual(eventsOf("####....#"), ["1 started #0 0", "6 halfway #0 0-4", "8 resumed #0 0"]);
});

test("the start of an utterance never reaches into the previous one", () => {
  assert.deepEqual(eventsOf("####.....##.....").slice(-3), [
    "10 started #1 4",
    "13 halfway #1 4-11",
    "15 ended #1 4-11 pause",
  ]);
});

test("the lower threshold continues speech but does not begin it", () => {
  assert.deepEqual(eventsOf("~~~~##~~~~....."), [
    "5 started #0 0",
    "12 halfway #0 0-10",
    "14 ended #0 0-10 pause",
  ]);
});

test("the shortest pause ends an utterance immediately", () => {
  assert.deepEqual(eventsOf("##.", { pauseFrames: 1 }), ["1 started #0 0", "2 ended #0 0-2 pause"]);
});

test("finalize ends only the open utterance", () => {
  const endpointer = new Endpointer();
  assert.deepEqual(endpointer.finalizeNow(), []);
  for (const letter of "..###.") endpointer.push(PROBABILITY[letter]!);
  assert.deepEqual(endpointer.finalizeNow().map(say), ["ended #0 0-5 finalize"]);
  assert.deepEqual(endpointer.finalizeNow(), []);
  assert.deepEqual(
    [..."....."].flatMap(() => endpointer.push(0)),
    [],
  );
});

test("speech that continues after finalize is the next utterance", () => {
  const endpointer = new Endpointer();
  for (const letter of "####") endpointer.push(PROBABILITY[letter]!);
  endpointer.finalizeNow();
  assert.deepEqual(endpointer.push(0.9).map(say), ["started #1 4"]);
});

const SMALL = { longestFrames: 30, cutWindowFrames: 10 } as const;

test("an utterance of the maximum length is cut where speech was least probable", () => {
  const frames = `${"#".repeat(24)}~${"#".repeat(10)}`;
  assert.deepEqual(eventsOf(frames, SMALL), [
    "1 started #0 0",
    "30 ended #0 0-24 too-long",
    "30 started #1 24",
  ]);
});

test("silence after a cut gap is not an utterance", () => {
  const frames = `${"#".repeat(26)}....#.......`;
  assert.deepEqual(eventsOf(frames, SMALL), [
    "1 started #0 0",
    "28 halfway #0 0-26",
    "30 resumed #0 0",
    "30 ended #0 0-26 too-long",
  ]);
});

test("an utterance of exactly the maximum length ends by its pause", () => {
  assert.deepEqual(eventsOf(`${"#".repeat(30)}.....`, SMALL).at(-1), "34 ended #0 0-30 pause");
});

test("endless speech is cut repeatedly without loss", () => {
  const ends = eventsOf("#".repeat(100), SMALL).filter((line) => line.includes("ended"));
  assert.deepEqual(ends, [
    "30 ended #0 0-30 too-long",
    "60 ended #1 30-60 too-long",
    "90 ended #2 60-90 too-long",
  ]);
});

test("NaN counts as silence", () => {
  const endpointer = new Endpointer();
  endpointer.push(0.9);
  endpointer.push(0.9);
  const events = Array.from({ length: 5 }, () => endpointer.push(Number.NaN)).flat();
  assert.deepEqual(events.map(say), ["halfway #0 0-2", "ended #0 0-2 pause"]);
});

test("an utterance of the maximum length is cut at NaN, the least probable speech", () => {
  const endpointer = new Endpointer(SMALL);
  const frames = Array.from({ length: 31 }, (_, frame) => (frame === 25 ? Number.NaN : 0.9));
  const events = frames.flatMap((probability) => endpointer.push(probability));
  assert.deepEqual(events.map(say), ["started #0 0", "ended #0 0-25 too-long", "started #1 25"]);
});

test("milliseconds become whole frames, rounded up", () => {
  assert.deepEqual([100, 200, 201, 2_000].map(pauseFramesFor), [3, 5, 6, 50]);
});

test("contradictory options are rejected by name", () => {
  assert.throws(
    () => new Endpointer({ offThreshold: 0.6 }),
    /offThreshold must be at most 0.5 .*received 0.6/,
  );
  assert.throws(() => new Endpointer({ pauseFrames: 0 }), /pauseFrames .*received 0/);
  assert.throws(() => new Endpointer({ longestFrames: 100 }), /longestFrames .*received 100/);
});

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

/** A straightforward implementation of the two thresholds. */
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
      // First started, then alternately halfway and resumed, then ended.
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
        /** Returns the ends found from `first` on, in the order in which they were detected. */
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
              // An end caused by the frame itself comes before a finalize after the frame.
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
      // In the same frame, an utterance of the maximum length is cut and the rest is finalized.
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

/** Runs of frames of one kind: silence, a near voice or a background voice, with and without letters. */
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

/**
 * `#` a near voice with letters, `-` the same without letters; `b` a voice 20 dB below it with letters; `d` a
 * voice 10 dB below it that is less surely near; `q` the near voice, 10 dB quieter; `.` silence.
 */
const HEARD: Readonly<Record<string, { readonly probability: number } & HeardFrame>> = {
  "#": { probability: 0.95, levelDb: -30, hasLetter: true },
  "-": { probability: 0.95, levelDb: -30, hasLetter: false },
  b: { probability: 0.95, levelDb: -50, hasLetter: true },
  d: { probability: 0.7, levelDb: -40, hasLetter: true },
  q: { probability: 0.95, levelDb: -40, hasLetter: true },
  ".": { probability: 0.05, levelDb: -80, hasLetter: false },
};

function endsOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter, frame) => {
    const { probability, ...heard } = HEARD[letter]!;
    const ended = endpointer.push(probability, heard).filter(({ type }) => type === "ended");
    return ended.map((event) => `${frame} ${say(event)}`);
  });
}

test("a voice much quieter than the speaker neither extends the utterance nor starts one", () => {
  const [end, ...others] = endsOf(`${"#".repeat(20)}${"b".repeat(100)}`);
  // Its loudest frames count for a quarter of a second before the pause starts.
  assert.equal(end, "29 ended #0 0-25 pause");
  assert.deepEqual(others, []);
});

test("a voice 10 dB below the speaker that never comes near ends the utterance soon after the speaker", () => {
  const heard = `${"#".repeat(20)}${"d".repeat(60)}`;
  assert.deepEqual(endsOf(heard), []);
  const [end] = endsOf(heard, { doubtLimit: DISTANT_DOUBT });
  assert.equal(end, "28 ended #0 0-25 distant");
  // This must not happen before the pause that the client requested.
  const [later] = endsOf(heard, { doubtLimit: DISTANT_DOUBT, pauseFrames: 20 });
  assert.equal(later, "39 ended #0 0-25 distant");
});

test("a quiet consonant after the first vowel does not delay the start of an utterance", () => {
  const started = (frames: string) => {
    const endpointer = new Endpointer();
    return [...frames].flatMap((letter, frame) => {
      const { probability, ...heard } = HEARD[letter]!;
      const events = endpointer.push(probability, heard);
      return events.some(({ type }) => type === "started") ? [frame] : [];
    });
  };
  const sentence = `${"#".repeat(20)}......`;
  assert.deepEqual(started(`${sentence}#b#${sentence}`), [1, 27]);
  // Two quiet frames without a near one before them start nothing.
  assert.deepEqual(started(`${sentence}bb##${sentence}`), [1, 29]);
});

test("a voice that continues after a distant end is the next utterance", () => {
  const heard = `${"#".repeat(20)}${"d".repeat(60)}......`;
  const ends = endsOf(heard, { doubtLimit: DISTANT_DOUBT });
  assert.deepEqual(ends.slice(1), ["84 ended #1 25-80 pause"]);
});

test("a speaker who comes near occasionally, or is clearly near, is not taken for a distant voice", () => {
  const options = { doubtLimit: DISTANT_DOUBT };
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"dd##".repeat(20)}`, options), []);
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"q".repeat(100)}`, options), []);
});

test("voices far quieter than the speaker are not part of the utterance if they come first", () => {
  assert.deepEqual(endsOf(`${"b".repeat(30)}${"#".repeat(20)}.....`), ["54 ended #0 22-50 pause"]);
  // The speaker's own quiet start is included.
  assert.deepEqual(endsOf(`${"d".repeat(30)}${"#".repeat(20)}.....`), ["54 ended #0 0-50 pause"]);
});

test("the mean probability of speech excludes voices before the speaker", () => {
  const endpointer = new Endpointer();
  const frames = [
    ...Array<HeardFrame & { probability: number }>(30).fill({ ...HEARD["b"]!, probability: 0.6 }),
    ...Array<HeardFrame & { probability: number }>(20).fill(HEARD["#"]!),
    ...Array<HeardFrame & { probability: number }>(5).fill(HEARD["."]!),
  ];
  const means = frames.flatMap(({ probability, ...heard }) =>
    endpointer.push(probability, heard).flatMap((event) => ("speechMean" in event ? [event.speechMean] : [])),
  );
  assert.deepEqual(
    means.map((mean) => mean.toFixed(2)),
    ["0.95", "0.95"],
  );
});

test("a bang does not hide the voice that follows it", () => {
  const endpointer = new Endpointer();
  const levels = [...Array<number>(10).fill(-50), -10, ...Array<number>(20).fill(-50)];
  const events = levels.flatMap((levelDb) => endpointer.push(0.95, { levelDb, hasLetter: true }));
  assert.deepEqual(events.concat(endpointer.finalizeNow()).map(say), [
    "started #0 0",
    "ended #0 0-31 finalize",
  ]);
});

test("a lone voice is transcribed, however quiet", () => {
  assert.deepEqual(endsOf(`${"b".repeat(20)}.....`), ["24 ended #0 0-20 pause"]);
});

test("a quieter voice can start an utterance some time after the speaker", () => {
  const waited = `${"#".repeat(20)}${".".repeat(400)}`;
  assert.equal(endsOf(`${waited}${"b".repeat(20)}......`).length, 2);
  assert.equal(endsOf(`${"#".repeat(20)}${".".repeat(200)}${"b".repeat(20)}......`).length, 1);
});

test("a speaker who gradually becomes quieter stays in the utterance", () => {
  const endpointer = new Endpointer();
  const events = Array.from({ length: 300 }, (_, frame) =>
    endpointer.push(0.95, { levelDb: -30 - frame / 10, hasLetter: true }),
  ).flat();
  assert.deepEqual(events.map(say), ["started #0 0"]);
});

test("voice activity without letters ends the utterance where its letters ended", () => {
  const options = { wordlessFrames: 30 };
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"-".repeat(60)}`, options), [
    "49 ended #0 0-20 wordless",
    "49 ended #1 20-50 wordless",
    "79 ended #2 50-80 wordless",
  ]);
  // Silence ends it as usual.
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"-".repeat(5)}.....`, options), ["29 ended #0 0-25 pause"]);
});

test("an utterance without letters does not set the speaker's level", () => {
  const endpointer = new Endpointer({ wordlessFrames: 30 });
  for (let frame = 0; frame < 29; frame++) endpointer.push(0.9, { levelDb: -20, hasLetter: false });
  const [ended] = endpointer.push(0.9, { levelDb: -20, hasLetter: false });
  assert.deepEqual(ended?.type === "ended" && [ended.hasLetters, ended.speaker], [false, null]);
});

test("patience extends a pause without moving its halfway point", () => {
  let patience = 3;
  const said = (frames: string) => {
    const endpointer = new Endpointer({}, false, () => patience);
    return [...frames].flatMap((letter, frame) =>
      endpointer.push(PROBABILITY[letter]!).map((event) => `${frame} ${say(event)}`),
    );
  };
  const pause = `####${".".repeat(20)}`;
  assert.deepEqual(said(pause), ["1 started #0 0", "6 halfway #0 0-4", "18 ended #0 0-4 pause"]);
  patience = 2;
  assert.deepEqual(said(pause), ["1 started #0 0", "6 halfway #0 0-4", "13 ended #0 0-4 pause"]);
  patience = 1;
  assert.deepEqual(said(pause), eventsOf(pause));
  patience = 3;
  assert.deepEqual(said("####.........##"), ["1 started #0 0", "6 halfway #0 0-4", "13 resumed #0 0"]);
});

test("the allowed pause grows as the end of a sentence becomes less likely, up to three thresholds", () => {
  assert.deepEqual([1, 0.4, 0.05].map(patienceAfter), [1, 1, 1]);
  assert.deepEqual([0.04, 0.02].map(patienceAfter), [2, 2]);
  assert.deepEqual([0.01, 0].map(patienceAfter), [3, 3]);
});
