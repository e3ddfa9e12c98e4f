interface Piece<Audio> {
  readonly audio: Audio;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Joins pieces of audio without gaps. */
export class Timeline<Audio> {
  readonly #pieces: Piece<Audio>[] = [];

  get endSeconds(): number {
    return this.#pieces.at(-1)?.endSeconds ?? 0;
  }

  append(audio: Audio, durationSeconds: number): Piece<Audio> {
    const startSeconds = this.endSeconds;
    const piece = { audio, startSeconds, endSeconds: startSeconds + durationSeconds };
    this.#pieces.push(piece);
    return piece;
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
