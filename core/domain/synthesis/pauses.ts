/**
 * Silence between two pieces of a sentence by the last mark of the first, in addition to the silence at the
 * pieces' edges. A full stop inside a sentence is added by the cut and has no pause.
 */
const PAUSE_MS: ReadonlyMap<string, number> = new Map([
  [",", 90],
  ["-", 110],
  ["—", 140],
  [":", 160],
  [";", 190],
  ["!", 250],
  ["?", 250],
]);

/**
 * Returns the milliseconds of silence after a piece inside a sentence; 0 where it was cut between two words.
 * @param breath see `VoiceManner`
 */
export function pauseAfterMs(spokenPiece: string, breath: number): number {
  return breath * (PAUSE_MS.get(spokenPiece.trimEnd().at(-1) ?? "") ?? 0);
}
