/** How a model's condition depends on pitch: the pitch columns of a linear layer. */
export interface PitchColumns {
  /** Log Hz of one unit of the layer's input. */
  readonly logHzPerUnit: number;
  /** Pitch range of the model. */
  readonly lowestHz: number;
  readonly highestHz: number;
  /** `[frames of a patch][condition width]`: effect of a unit of a frame's pitch on its patch's condition. */
  readonly columns: readonly (readonly number[])[];
}

/** A piece's pitch, and the condition computed from it. */
export interface PitchedCondition {
  /** Hz per frame, `[frames]`, positive everywhere. */
  readonly f0: Float32Array;
  /** `[at least frames / frames of a patch, condition width]` */
  readonly condition: Float32Array;
}

/**
 * Scales the range of a piece's pitch around `centreHz` in log Hz, in place, and changes the condition to
 * that of the new pitch, so that mel and pulses agree on the harmonics.
 *
 * @param range 1 for no change
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
