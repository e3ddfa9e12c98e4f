import assert from "node:assert/strict";
import { test } from "node:test";
import { writeWav } from "../../../core/domain/audio/wav.js";
import { WavSampleReader } from "../../../core/domain/audio/wav-samples.js";

const PCM = Int16Array.from({ length: 200 }, (_, index) => index * 150 - 15_000);
const WAV = new Uint8Array(writeWav(PCM, 16_000));

/** Reads a file as it arrives from a network, with or without a known length. */
function read(bytes: Uint8Array, pieceBytes: number, totalBytes?: number): readonly number[] {
  const reader = new WavSampleReader(totalBytes);
  const samples: number[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    samples.push(...reader.push(bytes.subarray(at, at + pieceBytes)));
  reader.end();
  assert.equal(reader.sampleCount, samples.length);
  return samples.map((sample) => sample * 32_768);
}

test("a file split anywhere gives the samples of the whole", () => {
  for (const pieceBytes of [1, 2, 3, 43, 44, 45, 100, WAV.length])
    assert.deepEqual(read(WAV, pieceBytes, WAV.length), [...PCM], `pieces of ${pieceBytes} bytes`);
});

test("ignores chunks after the samples, wherever the file is split", () => {
  const behind = new TextEncoder().encode("LIST\u0004\0\0\0INFO");
  const file = new Uint8Array([...WAV, ...behind]);
  for (const pieceBytes of [1, WAV.length, WAV.length + 3, file.length]) {
    assert.deepEqual(read(file, pieceBytes, file.length), [...PCM], `pieces of ${pieceBytes} bytes`);
    assert.deepEqual(read(file, pieceBytes), [...PCM], `pieces of ${pieceBytes} bytes, length unknown`);
  }
});

test("a file that ends within a block gives the complete blocks before it", () => {
  assert.deepEqual(read(WAV.subarray(0, WAV.length - 1), 7), [...PCM.subarray(0, PCM.length - 1)]);
});
