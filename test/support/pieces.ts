/** Splits a text into pieces of one to four characters. The same seed gives the same pieces. */
export function splitAnywhere(text: string, seed: number): string[] {
  const characters = [...text];
  const pieces: string[] = [];
  for (let at = 0, state = seed; at < characters.length; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const length = 1 + (state % 4);
    pieces.push(characters.slice(at, at + length).join(""));
    at += length;
  }
  return pieces;
}
