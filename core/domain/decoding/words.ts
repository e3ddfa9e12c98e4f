/** A word and where it was spoken, in seconds. */
export interface TimedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** A word and how sure it is, 0 to 1; see `wordConfidences`. */
export interface ScoredWord extends TimedWord {
  readonly confidence: number;
}

/** How frames become seconds. */
export interface FrameTiming {
  readonly frameSeconds: number;
  /** Time of frame 0. */
  readonly offsetSeconds: number;
}

/** Output tokens in order, each with its first and last frame. */
export interface FramedTokens {
  readonly tokens: ArrayLike<number>;
  readonly firstFrames: ArrayLike<number>;
  readonly lastFrames: ArrayLike<number>;
}

/** 40 ms frames from the start of the audio. */
export const DEFAULT_TIMING: FrameTiming = { frameSeconds: 0.04, offsetSeconds: 0 };

/**
 * Splits tokens at spaces, which are tokens of their own or begin one; a word lasts from the first frame of its first
 * letter to the end of its last letter's.
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

/** Tokens as text; spaces at both ends and doubled ones are dropped. */
export function textOf(tokens: ArrayLike<number>, vocabulary: readonly string[]): string {
  let text = "";
  for (let i = 0; i < tokens.length; i++) text = withPiece(text, vocabulary[tokens[i]!]!);
  return text.trimEnd();
}

/** The text with one token more; a space at its beginning or after a space is dropped. */
export function withPiece(text: string, piece: string): string {
  const isAfterSpace = text === "" || text.endsWith(" ");
  return text + (isAfterSpace && piece.startsWith(" ") ? piece.slice(1) : piece);
}

function secondsOf(frame: number, timing: FrameTiming): number {
  // Rounded to microseconds: 3 frames of 0.04 s are 0.12, not 0.12000000000000001.
  return Math.round((frame * timing.frameSeconds + timing.offsetSeconds) * 1e6) / 1e6;
}
