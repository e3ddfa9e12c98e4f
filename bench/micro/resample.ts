import assert from "node:assert/strict";
import { Bench } from "tinybench";
import { Resampler, resample } from "../../core/domain/audio/resample.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult, taskFigures } from "../save-result.js";

const PAIRS = [
  [48_000, 16_000],
  [44_100, 16_000],
  [8_000, 16_000],
] as const;
const ZERO_CROSSINGS = 32;
/** Both filters are windowed sincs with different windows; their pass bands agree within this. */
const TOLERANCE = 1e-3;

/** One second of audio through the streaming resampler, compared with a sinc computed for every sample. */
export async function run(options: BenchOptions): Promise<void> {
  const bench = new Bench({ time: options.smoke ? 20 : 2_000, retainSamples: true });
  for (const [fromHz, toHz] of PAIRS) {
    const second = Float32Array.from({ length: fromHz }, (_, i) =>
      Math.sin((2 * Math.PI * 440 * i) / fromHz),
    );
    assertClose(resample(second, { fromHz, toHz }), computed(second, fromHz, toHz));
    const resampler = new Resampler({ fromHz, toHz });
    bench.add(`${fromHz} to ${toHz}, current`, () => void resampler.push(second));
    if (fromHz === PAIRS[0][0])
      bench.add(`${fromHz} to ${toHz}, computed`, () => void computed(second, fromHz, toHz));
  }
  await bench.run();
  const figures = taskFigures(bench);
  for (const { name, p50Ms } of figures)
    console.log(`resample ${name}: ${p50Ms.toFixed(2)} ms per second of audio`);
  const ratio = figures[1]!.p50Ms / figures[0]!.p50Ms;
  console.log(`resample: ${ratio.toFixed(1)} times as fast as a computed sinc`);
  if (!options.smoke) await saveResult("resample", { parameters: { pairs: PAIRS }, ratio, figures });
}

/** Resamples by definition: a Hann-windowed sinc around each output position. */
function computed(samples: Float32Array, fromHz: number, toHz: number): Float32Array {
  const step = fromHz / toHz;
  const cutoff = Math.min(1, toHz / fromHz);
  const half = ZERO_CROSSINGS / cutoff;
  return Float32Array.from({ length: Math.ceil(samples.length / step) }, (_, n) => {
    let sum = 0;
    for (let i = Math.ceil(n * step - half); i <= n * step + half; i++) {
      const distance = i - n * step;
      const x = Math.PI * distance * cutoff;
      const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / half);
      sum += (samples[i] ?? 0) * cutoff * (x === 0 ? 1 : Math.sin(x) / x) * window;
    }
    return sum;
  });
}

function assertClose(actual: Float32Array, expected: Float32Array): void {
  assert.equal(actual.length, expected.length);
  for (let i = 500; i < actual.length - 500; i++) {
    assert.ok(
      Math.abs(actual[i]! - expected[i]!) < TOLERANCE,
      `sample ${i}: ${actual[i]} and ${expected[i]}`,
    );
  }
}
