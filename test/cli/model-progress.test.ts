import assert from "node:assert/strict";
import { test } from "node:test";
import { FileProgress } from "../../src/cli/model-progress.js";
import { drawn } from "../../src/cli/progress.js";

test("a download shows its progress, recent rate and time left", () => {
  let nowMs = 0;
  const progress = new FileProgress(() => nowMs);
  const line = () => drawn(progress.parts(), { columns: 100, hasColor: false });
  assert.equal(line(), "preparing");
  const moved = (bytes: number, total: number | null = 100e6) =>
    progress.moved({ file: "model.onnx", bytes, total });
  // Bytes of an earlier run count towards the share, but not the rate.
  moved(20e6);
  assert.equal(line(), "model.onnx  [###-------------]  20 %  20.0 of 100.0 MB");
  nowMs = 2_000;
  moved(30e6);
  assert.equal(line(), "model.onnx  [####------------]  30 %  0:14 left  5.0 MB/s  30.0 of 100.0 MB");
  // Twice as fast for longer than the window, so that the slow start no longer counts.
  for (let step = 1; step <= 40; step++) {
    nowMs = 2_000 + step * 500;
    moved(30e6 + step * 1e6);
  }
  assert.equal(line(), "model.onnx  [###########-----]  70 %  0:15 left  2.0 MB/s  70.0 of 100.0 MB");
  moved(1e6, null);
  assert.equal(line(), "model.onnx  1.0 MB");
});
