import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { normalizeForScoring } from "../../core/domain/text/error-rate.js";
import type { DauysClient } from "../../src/client/node.js";
import type { SpeechRequest, SpeechWord } from "../../src/client/speech-types.js";

/** Difference between a word's times from the synthesizer and from the recogniser. */
interface HeardWord {
  readonly word: string;
  /** Difference of starts in seconds; positive if the word is reported too late. */
  readonly startDifference: number;
  readonly endDifference: number;
}

/** How well the reported times match the recogniser's. */
export interface HeardSpeech {
  readonly text: string;
  /** Number of words spoken exactly as written. */
  readonly wordCount: number;
  /** The words that the recogniser got right. */
  readonly heard: readonly HeardWord[];
  /**
   * Seconds from the first sound in the audio to the recogniser's start of the first word: it outputs letters
   * after they are spoken. Null if it misrecognised that word.
   */
  readonly onsetLateness: number | null;
  readonly words: readonly SpeechWord[];
  readonly samples: Float32Array;
}

const SAMPLE_RATE_HZ = 24_000;
/**
 * Length of the steps in which sound is searched, and the level below the loudest step that still counts as
 * sound.
 */
const STEP_SECONDS = 0.01;
const SOUND_DB = -30;

interface Timed {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** Synthesizes a text, and transcribes it with word times. Both cost credits. */
export async function hearWords(client: DauysClient, request: SpeechRequest): Promise<HeardSpeech> {
  const { wav, words = [] } = await client.speak(request, { timestamps: true });
  const { words: heard = [] } = await client.transcribe(wav, { timestamps: true });
  const reported = words.filter(({ spoken }) => spoken === undefined);
  const pairs = commonWords(reported.map(scored), heard.map(scored));
  const samples = new WavSampleReader(wav.length).push(wav);
  const [first] = pairs;
  const isFirst = first !== undefined && first[0].start === words[0]?.start;
  return {
    words,
    samples,
    onsetLateness: isFirst ? first[1].start - onsetSeconds(samples, SAMPLE_RATE_HZ) : null,
    text: request.text,
    wordCount: reported.length,
    heard: pairs.map(([mine, theirs]) => ({
      word: mine.word,
      startDifference: mine.start - theirs.start,
      endDifference: mine.end - theirs.end,
    })),
  };
}

/** Median lag of the recogniser over all sentences, in seconds; independent of the voice. */
export function recognizerLateness(spoken: readonly Pick<HeardSpeech, "onsetLateness">[]): number {
  const all = spoken.flatMap(({ onsetLateness }) => (onsetLateness === null ? [] : [onsetLateness]));
  return all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;
}

function onsetSeconds(samples: Float32Array, sampleRateHz: number): number {
  const step = Math.round(STEP_SECONDS * sampleRateHz);
  const powers = Array.from({ length: Math.floor(samples.length / step) }, (_, i) =>
    samples.subarray(i * step, (i + 1) * step).reduce((sum, sample) => sum + sample * sample, 0),
  );
  const floor = Math.max(...powers) * 10 ** (SOUND_DB / 10);
  return powers.findIndex((power) => power > floor) * STEP_SECONDS;
}

function scored<T extends Timed>({ word, start, end }: T): Timed {
  return { word: normalizeForScoring(word), start, end };
}

/** Finds the words that both contain, in order: the longest common subsequence. */
function commonWords(a: readonly Timed[], b: readonly Timed[]): (readonly [Timed, Timed])[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Int32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const isSame = a[i]!.word === b[j]!.word;
      lengths[i]![j] = isSame
        ? lengths[i + 1]![j + 1]! + 1
        : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  const pairs: (readonly [Timed, Timed])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i]!.word === b[j]!.word) pairs.push([a[i++]!, b[j++]!]);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return pairs;
}
