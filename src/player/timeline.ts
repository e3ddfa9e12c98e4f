/** One piece of sound on the timeline; seconds from the beginning of the speech. */
export interface Piece<Sound> {
  readonly sound: Sound;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** What is left to play of a piece. */
export interface PieceAhead<Sound> {
  readonly piece: Piece<Sound>;
  /** Where in the piece it begins. */
  readonly offsetSeconds: number;
  /** How long after the position it sounds. */
  readonly delaySeconds: number;
}

/** Pieces one after another, without a gap: each begins where the one before it ends. */
export class Timeline<Sound> {
  readonly #pieces: Piece<Sound>[] = [];

  /** How much has arrived. */
  get endSeconds(): number {
    return this.#pieces.at(-1)?.endSeconds ?? 0;
  }

  append(sound: Sound, durationSeconds: number): Piece<Sound> {
    const startSeconds = this.endSeconds;
    const piece = { sound, startSeconds, endSeconds: startSeconds + durationSeconds };
    this.#pieces.push(piece);
    return piece;
  }

  /** A position within what has arrived. */
  clamp(seconds: number): number {
    return Math.min(Math.max(0, seconds), this.endSeconds);
  }

  /** Everything from a position on, in order. */
  from(seconds: number): PieceAhead<Sound>[] {
    return this.#pieces
      .filter((piece) => piece.endSeconds > seconds)
      .map((piece) => ({
        piece,
        offsetSeconds: Math.max(0, seconds - piece.startSeconds),
        delaySeconds: Math.max(0, piece.startSeconds - seconds),
      }));
  }
}
