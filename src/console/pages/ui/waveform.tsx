const BARS = 120;
const HEIGHT = 64;

interface WaveformProps {
  /** 16-bit mono PCM. */
  readonly samples: Int16Array;
  /** 0 to 1. */
  readonly played: number;
}

/** A sound as bars, those that were played in the accent's colour. */
export function Waveform({ samples, played }: WaveformProps) {
  const heights = peaksOf(samples);
  const split = Math.round(played * BARS);
  return (
    <svg class="waveform" viewBox={`0 0 ${BARS * 4} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="played" d={bars(heights, 0, split)} />
      <path class="ahead" d={bars(heights, split, BARS)} />
    </svg>
  );
}

function bars(heights: readonly number[], from: number, to: number): string {
  let path = "";
  for (let bar = from; bar < to; bar++) {
    const half = Math.max(1, ((heights[bar] ?? 0) * HEIGHT) / 2);
    path += `M${bar * 4 + 2} ${HEIGHT / 2 - half}v${half * 2}`;
  }
  return path;
}

let known: { readonly samples: Int16Array; readonly heights: readonly number[] } | null = null;

/** The largest sample under each bar, as a part of the largest of all. Kept while the sound stays the same. */
function peaksOf(samples: Int16Array): readonly number[] {
  if (known?.samples === samples) return known.heights;
  const peaks = Array.from({ length: BARS }, (_, bar) => {
    const end = Math.floor(((bar + 1) * samples.length) / BARS);
    let peak = 0;
    for (let index = Math.floor((bar * samples.length) / BARS); index < end; index++) {
      peak = Math.max(peak, Math.abs(samples[index] ?? 0));
    }
    return peak;
  });
  const loudest = Math.max(1, ...peaks);
  const heights = peaks.map((peak) => peak / loudest);
  known = { samples, heights };
  return heights;
}
