import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BundleWriter,
  decodeOpen,
  encodeOpen,
  LANE_VERSIONS,
  MAX_BUNDLE_BYTES,
  RECORD,
  type RecordType,
  readBundle,
  samplesOf,
  sessionsOf,
} from "../../../actors/fleet/lane-records.js";
import { decodeReport, encodeReport, type LaneReport } from "../../../actors/fleet/lane-reports.js";
import * as fc from "../../support/properties.js";

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const anyRecord = fc.record(
  {
    type: fc.constantFrom(...(Object.values(RECORD) as RecordType[])),
    session: u32,
    epoch: u32,
    position: u32,
    body: fc.uint8Array({ maxLength: 70 }),
  },
  { noNullPrototype: true },
);

/** Bytes as NATS provides them: a Buffer within a larger one, at any offset. */
function lent(bytes: Uint8Array, offset: number): Buffer {
  const around = Buffer.alloc(bytes.length + offset + 3, 255);
  around.set(bytes, offset);
  return around.subarray(offset, offset + bytes.length);
}

test("records survive a bundle at any offset", () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 20 }), u32, fc.nat({ max: 7 }), (records, nth, offset) => {
      const writer = new BundleWriter(LANE_VERSIONS.most);
      for (const { type, body, ...of } of records) writer.add(type, of, body);
      const bundle = readBundle(lent(writer.take(nth), offset));
      assert.deepEqual([bundle.version, bundle.nth], [LANE_VERSIONS.most, nth]);
      assert.deepEqual(
        bundle.records.map(({ body, ...rest }) => ({ ...rest, body: Uint8Array.from(body) })),
        records,
      );
      assert.ok(writer.isEmpty, "the next bundle begins");
    }),
  );
});

test("audio survives after a record of any length", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 9 }),
      fc.int16Array({ maxLength: 200 }),
      fc.nat({ max: 7 }),
      (before, samples, offset) => {
        const writer = new BundleWriter(LANE_VERSIONS.most);
        writer.add(RECORD.open, { session: 1, epoch: 2, position: 3 }, before);
        writer.addAudio({ session: 1, epoch: 2, position: 3 }, samples.length).set(samples);
        const { records } = readBundle(lent(writer.take(0), offset));
        assert.deepEqual(Int16Array.from(samplesOf(records[1]!)), samples);
      },
    ),
  );
});

test("a truncated bundle is rejected or read within its end", () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 5 }), fc.nat(), (records, cut) => {
      const writer = new BundleWriter(LANE_VERSIONS.most);
      for (const { type, body, ...of } of records) writer.add(type, of, body);
      const whole = writer.take(0);
      const short = whole.subarray(0, cut % whole.length);
      let read = 0;
      try {
        read = readBundle(short).records.length;
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
      assert.ok(read <= records.length);
    }),
  );
});

test("arbitrary bytes decode within their bounds or throw a RangeError", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      try {
        for (const { body } of readBundle(bytes).records) assert.ok(body.length <= bytes.length);
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    }),
  );
});

test("a bundle accepts records until it is full", () => {
  const writer = new BundleWriter(LANE_VERSIONS.most);
  const of = { session: 0, epoch: 0, position: 0 };
  const room = writer.roomSamples;
  writer.addAudio(of, room).fill(7);
  assert.equal(writer.roomSamples, 0);
  assert.ok(!writer.hasRoomFor(0));
  assert.throws(() => writer.add(RECORD.close, of), /a bundle holds 65536 bytes/);
  const bundle = writer.take(0);
  assert.ok(bundle.length <= MAX_BUNDLE_BYTES && bundle.length > MAX_BUNDLE_BYTES - 4);
  assert.equal(samplesOf(readBundle(bundle).records[0]!).length, room);
});

test("sessions of an alive record survive encoding", () => {
  fc.assert(
    fc.property(fc.array(u32, { maxLength: 50 }), (sessions) => {
      const writer = new BundleWriter(LANE_VERSIONS.most);
      const body = new Uint8Array(Uint32Array.from(sessions).buffer);
      writer.add(RECORD.alive, { session: 0, epoch: 0, position: 0 }, body);
      const { records } = readBundle(lent(writer.take(0), 1));
      assert.deepEqual([...sessionsOf(records[0]!)], sessions);
    }),
  );
});

test("a session's options are sent without its ring", () => {
  fc.assert(
    fc.property(u32, fc.boolean(), fc.array(fc.string()), (sample, isIt, words) => {
      const body = {
        from: { sample, isMidSpeech: isIt },
        marks: 3,
        nextUtterance: 7,
        wasShown: !isIt,
        endOfUtteranceMs: 200,
        endpointing: "fixed" as const,
        wantsPartials: isIt,
        hotWords: words.map((text, index) => ({ text, characterScore: index / 3 })),
      };
      const ring = new SharedArrayBuffer(32);
      const encoded = encodeOpen({ type: "open", session: 1, epoch: 2, ring, ...body });
      const record = { type: RECORD.open, session: 1, epoch: 2, position: 0, body: encoded };
      assert.deepEqual(decodeOpen(record), body);
    }),
  );
});

test("a report's numbers arrive bit for bit", () => {
  fc.assert(
    // Times and scores are never -0, which MessagePack would turn into 0.
    fc.property(fc.double({ noNaN: true, min: 0 }), fc.string(), fc.array(u32), (score, word, cursors) => {
      const answer = {
        ...{ type: "final", session: 1, epoch: 2, utterance: 0, text: word, startSample: 0, endSample: 640 },
        words: [{ word, start: score, end: score / 3, confidence: Math.fround(score) }],
        resume: { sample: 640, isMidSpeech: false },
      } as unknown as LaneReport["answers"][number];
      const report: LaneReport = { nth: 5, state: "open", heard: 9, cursors, answers: [answer] };
      assert.deepEqual(decodeReport(lent(encodeReport(report), 1)), report);
    }),
  );
});
