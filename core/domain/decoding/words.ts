/** A word and its time, in seconds. */
export interface TimedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** A word with its confidence, 0 to 1; see `wordConfidences`. */
export interface ScoredWord extends TimedWord {
  readonly confidence: number;
}

/** Converts frames to seconds. */
export interface FrameTiming {
  readonly frameSeconds: number;
  /** Time of frame 0. */
  readonly offsetSeconds: number;
}

/** Output tokens with their first and last frames. */
export interface FramedTokens {
  readonly tokens: ArrayLike<number>;
  readonly firstFrames: ArrayLike<number>;
  readonly lastFrames: ArrayLike<number>;
}

/** 40 ms frames from the start of the audio. */
export const DEFAULT_TIMING: FrameTiming = { frameSeconds: 0.04, offsetSeconds: 0 };

/**
 * Splits tokens into words at spaces, which are separate tokens or start one. A word lasts from the first
 * frame of its first letter to the end of its last letter's last frame.
 */
export function timedWords(
  framed: FramedTokens,
  vocabulary: readonly string[],
  timing: FrameTiming = DEFAULT_TIMING,
): TimedWord[] {
  const words: TimedWord[] = [];
  let word = "";
  let first = 0;
  for (let i = 0; i <= framed.tokens.length; i++) {
    const piece = i < framed.tokens.length ? vocabulary[framed.tokens[i]!]! : " ";
    const beginsWord = piece.startsWith(" ");
    if (beginsWord && word !== "") {
      words.push({
        word,
        start: secondsOf(framed.firstFrames[first]!, timing),
        end: secondsOf(framed.lastFrames[i - 1]! + 1, timing),
      });
      word = "";
    }
    const letters = beginsWord ? piece.slice(1) : piece;
    if (word === "") first = i;
    word += letters;
  }
  return words;
}

/** Joins tokens to text, without doubled spaces and spaces at the ends. */
export function textOf(tokens: ArrayLike<number>, vocabulary: readonly string[]): string {
  let text = "";
  for (let i = 0; i < tokens.length; i++) text = withPiece(text, vocabulary[tokens[i]!]!);
  return text.trimEnd();
}

/** Adds a token to a text, without a doubled space or one at the start. */
export function withPiece(text: string, piece: string): string {
  const isAfterSpace = text === "" || text.endsWith(" ");
  return text + (isAfterSpace && piece.startsWith(" ") ? piece.slice(1) : piece);
}

function secondsOf(frame: number, timing: FrameTiming): number {
  // Rounded to microseconds: 3 frames of 0.04 s are 0.12, not 0.12000000000000001.
  return Math.round((frame * timing.frameSeconds + timing.offsetSeconds) * 1e6) / 1e6;
}
