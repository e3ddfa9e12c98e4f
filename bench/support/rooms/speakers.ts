import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { readSamples } from "../../evaluate/samples.js";
import { readRecordings, type SpokenItem } from "../../evaluate/sets.js";
import { corpusLines } from "../corpora.js";
import { fadeAround, gainTo, RATE_HZ, STEP_SAMPLES, speechBounds } from "./levels.js";
import { between } from "./signals.js";
import { openVoices, type Voices } from "./voices.js";

/** Loud level of every near speaker. */
export const NEAR_LEVEL_DB = -26;
/** Margin around the speech, so that it has no abrupt edges. */
const MARGIN_SAMPLES = 0.1 * RATE_HZ;
const TALK_PAUSE_SECONDS = { least: 0.2, most: 0.9 };
/** Bounds on the length of recordings used near the microphone. */
const NEAR_SECONDS = { least: 1, most: 6 };
/** Number of recordings of one person used in the background. */
const RECORDINGS_BEHIND = 40;
/** Held-out sentences to choose from, near and in the background. */
const SENTENCES = 96;

interface Person {
  readonly speaker: string;
  readonly behind: string;
  readonly near?: string;
  readonly rangeDb?: number;
}

/**
 * People and the sets of their recordings. The last recording has noise 14 dB below the speech, which hides
 * where the speech ends, so this person talks only in the background.
 */
const PEOPLE: readonly Person[] = [
  { speaker: "asterisk", behind: "human-asterisk-ru-core", near: "human-asterisk-ru-additional" },
  { speaker: "kazakh", behind: "human-kazakh-speech-commands", near: "human-kazakh-speech-commands" },
  { speaker: "pisets", behind: "human-pisets-ru-test", rangeDb: 11 },
];

export const WHO = ["people", "voices"] as const;
/** Kinds of speakers: people, or the shipped synthesizer's voices. */
export type Who = (typeof WHO)[number];

/** A speaker at the microphone, without any background. */
export interface NearClip {
  readonly who: Who;
  readonly speaker: string;
  readonly text: string;
  readonly samples: Float32Array;
  readonly onset: number;
  /** One past the last sample of speech. */
  readonly end: number;
  /** Steps of 10 ms from onset to end; 1 for each step with speech. */
  readonly steps: Uint8Array;
}

/** Someone who talks in the background. */
export interface Talker {
  readonly who: Who;
  readonly speaker: string;
  readonly talk: Float32Array;
}

export interface Speakers {
  readonly near: readonly NearClip[];
  readonly talkers: readonly Talker[];
}

/** Amount of speech of each person in the background, before it repeats. */
export interface TalkLength {
  readonly seconds: number;
  /** Number of sentences of each synthetic voice. */
  readonly sentences: number;
}

/** Loads `count` near speakers of each kind, and everyone who may talk in the background. */
export async function loadSpeakers(who: readonly Who[], count: number, talk: TalkLength): Promise<Speakers> {
  const recordings = await readRecordings();
  const voices = await openVoices();
  try {
    const near: NearClip[] = [];
    if (who.includes("people")) near.push(...(await nearPeople(recordings, count)));
    if (who.includes("voices")) near.push(...(await nearVoices(voices, count)));
    const talkers = [...(await peopleBehind(recordings, talk)), ...(await voicesBehind(voices, talk))];
    return { near, talkers };
  } finally {
    await voices.release();
  }
}

/** Picks `count` items evenly over the whole list. */
export function spread<T>(items: readonly T[], count: number): T[] {
  const stride = Math.max(1, items.length / count);
  return Array.from({ length: Math.min(count, items.length) }, (_, nth) => items[Math.floor(nth * stride)]!);
}

/** Trims a recording to its speech and sets it to the level of a near speaker. */
export function nearClip(
  said: Pick<NearClip, "who" | "speaker" | "text">,
  recorded: Float32Array,
  rangeDb?: number,
): NearClip {
  const bounds = speechBounds(recorded, rangeDb);
  const first = Math.max(0, bounds.onset - MARGIN_SAMPLES);
  const gain = gainTo(NEAR_LEVEL_DB, recorded);
  const samples = recorded.slice(first, bounds.end + MARGIN_SAMPLES).map((sample) => sample * gain);
  const [onset, end] = [bounds.onset - first, bounds.end - first];
  fadeAround(samples, onset, end);
  const steps = bounds.steps.slice(bounds.onset / STEP_SAMPLES, bounds.end / STEP_SAMPLES);
  return { ...said, samples, onset, end, steps };
}

async function nearPeople(recordings: readonly SpokenItem[], count: number): Promise<NearClip[]> {
  const clips: NearClip[] = [];
  for (const { speaker, near } of PEOPLE) {
    if (near === undefined) continue;
    const fitting: [SpokenItem, Float32Array][] = [];
    for (const item of recordings.filter(({ set }) => set === near)) {
      const samples = await readSamples(item.path, RATE_HZ);
      const seconds = samples.length / RATE_HZ;
      if (seconds >= NEAR_SECONDS.least && seconds <= NEAR_SECONDS.most) fitting.push([item, samples]);
    }
    // The other person has only one recording.
    for (const [{ reference: text }, samples] of spread(fitting, Math.max(1, count - 1))) {
      clips.push(nearClip({ who: "people", speaker, text }, samples));
    }
  }
  return clips.slice(0, count);
}

async function nearVoices({ names, speak }: Voices, count: number): Promise<NearClip[]> {
  const clips: NearClip[] = [];
  for (const [nth, text] of spread(sentencesNear(), count).entries()) {
    const speaker = names[nth % names.length]!;
    clips.push(nearClip({ who: "voices", speaker, text }, await speak(speaker, text)));
  }
  return clips;
}

async function peopleBehind(recordings: readonly SpokenItem[], { seconds }: TalkLength): Promise<Talker[]> {
  const talkers: Talker[] = [];
  for (const [seed, { speaker, behind, rangeDb }] of PEOPLE.entries()) {
    const items = recordings.filter(({ set }) => set === behind).slice(0, RECORDINGS_BEHIND);
    const recorded = await Promise.all(items.map(({ path }) => readSamples(path, RATE_HZ)));
    talkers.push({ who: "people", speaker, talk: talkOf(recorded, { seconds, seed, rangeDb }) });
  }
  return talkers;
}

async function voicesBehind({ names, speak }: Voices, length: TalkLength): Promise<Talker[]> {
  const talkers: Talker[] = [];
  const sentences = sentencesBehind(names.length * length.sentences);
  for (const [index, speaker] of names.entries()) {
    const recorded: Float32Array[] = [];
    for (const text of sentences.filter((_, nth) => nth % names.length === index)) {
      recorded.push(await speak(speaker, text));
    }
    talkers.push({
      who: "voices",
      speaker,
      talk: talkOf(recorded, { seconds: length.seconds, seed: PEOPLE.length + index }),
    });
  }
  return talkers;
}

function sentencesNear(): string[] {
  return heldOutSentences().filter((_, nth) => nth % 2 === 0);
}

function sentencesBehind(count: number): string[] {
  return spread(
    heldOutSentences().filter((_, nth) => nth % 2 === 1),
    count,
  );
}

/** Returns held-out sentences without digits or foreign letters. */
function heldOutSentences(): string[] {
  const speakable = corpusLines("kk-heldout.txt.br")
    .map((line) => line.trim().toLowerCase())
    .filter((line) => /^[а-яёәғқңөұүһі ,.!?-]{25,90}$/.test(line));
  return spread(speakable, SENTENCES);
}

/** Joins recordings at equal levels, with random pauses between them. */
function talkOf(
  recorded: readonly Float32Array[],
  { seconds, seed, rangeDb }: { seconds: number; seed: number; rangeDb?: number | undefined },
): Float32Array {
  const random = uniformRandom(seed + 1);
  const parts = recorded.map((samples) =>
    nearClip({ who: "people", speaker: "", text: "" }, samples, rangeDb),
  );
  const talk = new Float32Array(seconds * RATE_HZ);
  for (let at = 0, nth = 0; at < talk.length; nth++) {
    const { samples, end } = parts[nth % parts.length]!;
    talk.set(samples.subarray(0, talk.length - at), at);
    at += end + Math.floor(between(random, TALK_PAUSE_SECONDS.least, TALK_PAUSE_SECONDS.most) * RATE_HZ);
  }
  return talk;
}
