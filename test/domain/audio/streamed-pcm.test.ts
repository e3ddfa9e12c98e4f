import assert from "node:assert/strict";
import { test } from "node:test";
import { concatenatePcm } from "../../../core/domain/audio/pcm.js";
import { StreamedPcm } from "../../../core/domain/audio/streamed-pcm.js";
import * as fc from "../../support/properties.js";

function streamed(stream: StreamedPcm, bytes: Uint8Array, cuts: readonly number[]): Int16Array {
  const pieces: Int16Array[] = [];
  let start = 0;
  for (const end of [...cuts, bytes.length]) {
    pieces.push(stream.push(bytes.subarray(start, end)));
    start = end;
  }
  return concatenatePcm([...pieces, stream.flush()]);
}

test("16-bit samples at the session's own rate pass unchanged, however they are chunked", () => {
  const cutBytes = fc
    .uint8Array({ maxLength: 200 })
    .chain((bytes) =>
      fc.tuple(fc.constant(bytes), fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 })),
    );
  fc.assert(
    fc.property(cutBytes, ([bytes, cuts]) => {
      const sorted = cuts.toSorted((left, right) => left - right);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const expected = Array.from({ length: bytes.length >> 1 }, (_, index) =>
        view.getInt16(2 * index, true),
      );
      assert.deepEqual([...streamed(new StreamedPcm("linear16", 16_000, 16_000), bytes, sorted)], expected);
    }),
  );
});

for (const [format, rateHz] of [
  ["linear16", 48_000],
  ["mulaw", 8_000],
  ["alaw", 8_000],
] as const) {
  test(`${format} at ${rateHz} Hz keeps its length and gives the same samples in any chunking`, () => {
    const bytes = Uint8Array.from({ length: rateHz }, (_, index) => (index * 2_654_435_761) >>> 24);
    const whole = streamed(new StreamedPcm(format, rateHz, 16_000), bytes, []);
    const seconds = format === "linear16" ? 0.5 : 1;
    assert.equal(whole.length, seconds * 16_000);
    const cuts = Array.from({ length: 100 }, (_, index) => 1 + index * 77);
    assert.deepEqual(streamed(new StreamedPcm(format, rateHz, 16_000), bytes, cuts), whole);
    // Otherwise a frame of the session would have to wait for the client's next message.
    assert.equal(new StreamedPcm(format, rateHz, 16_000).push(bytes).length, whole.length);
  });
}
