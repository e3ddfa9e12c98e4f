/** How a model's condition depends on the pitch that is part of it: a linear layer's columns of it. */
export interface PitchColumns {
  /** Natural logarithms of Hz that one unit of the layer's input stands for. */
  readonly logHzPerUnit: number;
  /** What the model can say. */
  readonly lowestHz: number;
  readonly highestHz: number;
  /** `[frames of a patch][condition width]`: what one unit of a frame's pitch adds to the condition of its patch. */
  readonly columns: readonly (readonly number[])[];
}

/** A piece's pitch, and the condition that was made with it. */
export interface PitchedCondition {
  /** Hz per frame, `[frames]`, positive everywhere. */
  readonly f0: Float32Array;
  /** `[at least frames / frames of a patch, condition width]` */
  readonly condition: Float32Array;
}

/**
 * Widens or narrows the range of a piece's pitch in place: `f0` moves away from `centreHz` or nearer to it in log Hz, and
 * the condition becomes what the model would have made of that pitch, so that mel and pulses agree on the harmonics.
 *
 * @param range 1 changes nothing
 */
export function scaleMelody(
  { f0, condition }: PitchedCondition,
  { range, centreHz }: { readonly range: number; readonly centreHz: number },
  { logHzPerUnit, lowestHz, highestHz, columns }: PitchColumns,
): void {
  const patchFrames = columns.length;
  const width = columns[0]!.length;
  for (let frame = 0; frame < f0.length; frame++) {
    const before = f0[frame]!;
    const scaled = centreHz * (before / centreHz) ** range;
    const hz = Math.min(Math.max(scaled, lowestHz), highestHz);
    f0[frame] = hz;
    const units = Math.log(hz / before) / logHzPerUnit;
    const column = columns[frame % patchFrames]!;
    const row = Math.floor(frame / patchFrames) * width;
    for (let i = 0; i < width; i++) condition[row + i]! += units * column[i]!;
  }
}
