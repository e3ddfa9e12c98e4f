import { ServiceError } from "../errors.js";

/**
 * Maximum number of spoken characters in a request. Numbers and signs become longer when spoken. From 5,000
 * characters, prose stays at 5,000; a price list becomes 14,000, telephone numbers 18,000, dates 21,000,
 * numbers of twelve digits 34,000. Only runs of symbols become longer, up to 84,500.
 */
export const LONGEST_SPOKEN_CHARACTERS = 40_000;
/**
 * Maximum length of a response, 173 MB of samples; a response sent as a whole stays in memory until it is
 * sent.
 */
export const LONGEST_SPEECH_SECONDS = 3_600;

/**
 * Upper estimates over all voices of svc-kk-v1: prose takes 0.076 s a character, numbers 0.06 to 0.08, vowels
 * 0.084; the shortest piece, a letter and a mark, 0.27 s.
 */
const SECONDS_PER_CHARACTER = 0.085;
const SECONDS_PER_PIECE = 0.1;

export interface SpeechQuantity {
  /** Code points of its pieces. */
  readonly characters: number;
  readonly pieces: number;
  readonly pauseSeconds: number;
}

/** Estimates the maximum length of speech, pauses included. @param speed includes the voice's pace */
export function speechSeconds({ characters, pieces, pauseSeconds }: SpeechQuantity, speed: number): number {
  return (characters * SECONDS_PER_CHARACTER + pieces * SECONDS_PER_PIECE) / speed + pauseSeconds;
}

/**
 * Rejects speech that would be too long.
 * @param options.speed speed of the job
 * @param options.asked requested speed, for the message
 * @throws {ServiceError} `TEXT_TOO_LONG`
 */
export function requireSpeakable(
  quantity: SpeechQuantity,
  { speed, asked }: { readonly speed: number; readonly asked: number },
): void {
  const { characters } = quantity;
  if (characters > LONGEST_SPOKEN_CHARACTERS) {
    const rule = `at most ${LONGEST_SPOKEN_CHARACTERS} characters when figures and signs are spoken as words`;
    throw new ServiceError("TEXT_TOO_LONG", `text must be ${rule}, received ${characters}`);
  }
  const seconds = Math.ceil(speechSeconds(quantity, speed));
  if (seconds > LONGEST_SPEECH_SECONDS) throw tooLong(`about ${seconds} s at speed ${asked}`);
}

export function tooLong(received: string): ServiceError {
  const rule = `text must be at most ${LONGEST_SPEECH_SECONDS} s of speech, received ${received}`;
  return new ServiceError("TEXT_TOO_LONG", rule);
}
