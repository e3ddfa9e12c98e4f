import { parseWavHeader, type WavHeader } from "../../core/domain/audio/wav.js";
import { takeWords, WavFrameReader } from "../../core/protocol/wav-frames.js";
import type { SpeechRule } from "./cases.js";
import { shown } from "./matching.js";
import type { Answer } from "./trace.js";
import { failed, PASSED, passedIf, type Verdict } from "./verdict.js";

const SENTENCE_END = /[.!?]+/g;
/** A chunk lasts a third of a second; the rest is room for servers that count differently. */
const SHORT_SECONDS = 0.75;

export const SPEECH_RULES: Readonly<Record<SpeechRule, (answer: Answer) => Verdict>> = {
  "whole frames": (answer) => {
    const { frames, isWhole } = framesOf(answer);
    return passedIf(isWhole && frames.length > 0, "frames of a 4-byte length and a WAV", () =>
      isWhole ? "no frame" : `${frames.length} frames, then an incomplete one`,
    );
  },
  "playable frames": (answer) => {
    for (const frame of framesOf(answer).frames) {
      const header = headerOf(frame);
      const isPlayable =
        header !== null &&
        header.format === "pcm" &&
        header.sampleRateHz === 24_000 &&
        header.channels === 1 &&
        header.bitsPerSample === 16 &&
        (header.dataBytes ?? 0) > 0;
      if (!isPlayable) return failed("a WAV of 24 kHz, 16-bit, mono", shown(header));
    }
    return PASSED;
  },
  "a frame a sentence": (answer) => {
    const sentences = answer.text.match(SENTENCE_END)?.length ?? 1;
    const { length } = framesOf(answer).frames;
    return passedIf(length === sentences, `${sentences} frames`, () => `${length}`);
  },
  "no words": (answer) =>
    passedIf(
      framesOf(answer).frames.every((frame) => takeWords(frame) === null),
      "no wrds chunk",
      () => "one",
    ),
  "words in each frame": (answer) => {
    const without = framesOf(answer).frames.filter((frame) => (takeWords(frame)?.words.length ?? 0) === 0);
    return passedIf(
      without.length === 0,
      "a wrds chunk with words in each frame",
      () => `${without.length} without`,
    );
  },
  "words match the text": wordsMatchText,
  "short first frame": (answer) => {
    const seconds = secondsOf(framesOf(answer).frames[0]);
    return passedIf(
      seconds > 0 && seconds <= SHORT_SECONDS,
      `at most ${SHORT_SECONDS} s`,
      () => `${seconds} s`,
    );
  },
  canceled: ({ isCanceled, status }) =>
    passedIf(
      isCanceled && status === 200,
      "a first frame, then an aborted response",
      () => `status ${status}`,
    ),
};

function wordsMatchText(answer: Answer): Verdict {
  const characters = [...answer.text];
  for (const frame of framesOf(answer).frames) {
    const seconds = secondsOf(frame);
    for (const word of takeWords(frame)?.words ?? []) {
      if (characters.slice(word.from, word.to).join("") !== word.word)
        return failed(`"${word.word}" at its place in the text`, shown(word));
      if (!(word.start >= 0 && word.start <= word.end && word.end <= seconds + 0.001))
        return failed(`0 <= start <= end <= ${seconds.toFixed(3)}`, shown(word));
    }
  }
  return PASSED;
}

function framesOf({ bytes }: Answer): { readonly frames: readonly Uint8Array[]; readonly isWhole: boolean } {
  const reader = new WavFrameReader();
  const frames = reader.push(bytes);
  return { frames, isWhole: reader.isAtBoundary };
}

function headerOf(frame: Uint8Array): WavHeader | null {
  try {
    return parseWavHeader(frame, frame.length);
  } catch {
    return null;
  }
}

function secondsOf(frame: Uint8Array | undefined): number {
  const header = frame === undefined ? null : headerOf(frame);
  return header === null ? 0 : (header.dataBytes ?? 0) / header.blockBytes / header.sampleRateHz;
}
