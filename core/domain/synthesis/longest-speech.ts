import { ServiceError } from "../errors.js";

/**
 * Spoken characters of one request. Figures and signs grow when they are read out: 5,000 characters of prose stay 5,000, a
 * price list becomes 14,000, telephone numbers 18,000, dates 21,000, nothing but numbers of twelve figures 34,000. Beyond
 * that are signs one behind the other, up to 84,500.
 */
export const LONGEST_SPOKEN_CHARACTERS = 40_000;
/** Of one answer: 173 MB of samples. An answer that is sent as a whole is in memory until it is sent. */
export const LONGEST_SPEECH_SECONDS = 3_600;

/**
 * Upper guess at the length of speech, from all voices of svc-kk-v1: prose takes 0.076 s a character, figures 0.06 to 0.08,
 * vowels alone 0.084; the shortest piece, of one letter and a mark, 0.27 s.
 */
const SECONDS_PER_CHARACTER = 0.085;
const SECONDS_PER_PIECE = 0.1;

/** What a request has to say, as far as it has been looked at. */
export interface SpeechQuantity {
  /** Code points of its pieces. */
  readonly characters: number;
  readonly pieces: number;
  readonly pauseSeconds: number;
}

/**
 * Upper guess at the length of speech, its pauses included.
 * @param speed of the job, which has the voice's pace in it
 */
export function speechSeconds({ characters, pieces, pauseSeconds }: SpeechQuantity, speed: number): number {
  return (characters * SECONDS_PER_CHARACTER + pieces * SECONDS_PER_PIECE) / speed + pauseSeconds;
}

/**
 * Refuses what would be too long to be spoken, before any of it is.
 * @param options.speed of the job
 * @param options.asked the speed that the client knows of
 * @throws {ServiceError} `TEXT_TOO_LONG`
 */
export function requireSpeakable(
  quantity: SpeechQuantity,
  { speed, asked }: { readonly speed: number; readonly asked: number },
): void {
  const { characters } = quantity;
  if (characters > LONGEST_SPOKEN_CHARACTERS) {
    throw new ServiceError(
      "TEXT_TOO_LONG",
      `text must be at most ${LONGEST_SPOKEN_CHARACTERS} characters as it is spoken, where figures and signs become words, ` +
        `received ${characters}`,
    );
  }
  const seconds = Math.ceil(speechSeconds(quantity, speed));
  if (seconds > LONGEST_SPEECH_SECONDS) throw tooLong(`about ${seconds} s at speed ${asked}`);
}

/** @param received what the text has */
export function tooLong(received: string): ServiceError {
  return new ServiceError(
    "TEXT_TOO_LONG",
    `text must be at most ${LONGEST_SPEECH_SECONDS} s of speech, received ${received}`,
  );
}
