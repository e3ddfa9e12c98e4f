interface Piece<Audio> {
  readonly audio: Audio;
  /** Turn of a live session; 0 for other speech. */
  readonly turn: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Joins pieces of audio without gaps. */
export class Timeline<Audio> {
  readonly #pieces: Piece<Audio>[] = [];

  get endSeconds(): number {
    return this.#pieces.at(-1)?.endSeconds ?? 0;
  }

  append(audio: Audio, durationSeconds: number, turn = 0): Piece<Audio> {
    const startSeconds = this.endSeconds;
    const piece = { audio, turn, startSeconds, endSeconds: startSeconds + durationSeconds };
    this.#pieces.push(piece);
    return piece;
  }

  /** Returns the turn at a position and how much of that turn was played before it; null without audio. */
  turnAt(seconds: number): { readonly turn: number; readonly playedSeconds: number } | null {
    const piece = this.#pieces.find(({ endSeconds }) => endSeconds > seconds) ?? this.#pieces.at(-1);
    if (piece === undefined) return null;
    const { startSeconds } = this.#pieces.find(({ turn }) => turn === piece.turn)!;
    return { turn: piece.turn, playedSeconds: Math.max(0, seconds - startSeconds) };
  }

  /** Limits a position to the audio that has arrived. */
  clamp(seconds: number): number {
    return Math.min(Math.max(0, seconds), this.endSeconds);
  }

  /** Returns the pieces from a position on, in order, and where in each of them playback starts. */
  from(seconds: number): { readonly piece: Piece<Audio>; readonly offsetSeconds: number }[] {
    return this.#pieces
      .filter((piece) => piece.endSeconds > seconds)
      .map((piece) => ({ piece, offsetSeconds: Math.max(0, seconds - piece.startSeconds) }));
  }
}
