/**
 * Silence between two pieces of one sentence by the mark the first one ends with, beside the pieces' own edges. A full stop
 * inside of a sentence was put there by the cut: it has none.
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
 * Milliseconds of silence after a piece that is not the last of its sentence; 0 where it was cut between two words.
 * @param breath see `VoiceManner`
 */
export function pauseAfterMs(spokenPiece: string, breath: number): number {
  return breath * (PAUSE_MS.get(spokenPiece.trimEnd().at(-1) ?? "") ?? 0);
}
