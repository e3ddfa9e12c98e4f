import type { SpeakingModel } from "../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../core/domain/errors.js";
import {
  requireSpeakable,
  type SpeechQuantity,
  speechSeconds,
} from "../../core/domain/synthesis/longest-speech.js";
import { seedOf } from "../../core/domain/synthesis/noise.js";
import { pauseAfterMs } from "../../core/domain/synthesis/pauses.js";
import type { RoomToneSource } from "../../core/domain/synthesis/room-tone.js";
import { LEADING_MS, TRAILING_MS } from "../../core/domain/synthesis/silence.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { dictionaryOf } from "../../core/domain/text/kazakh/dictionary.js";
import {
  eachSpokenSentence,
  type ReadingOptions,
  readerFor,
  type SpokenPiece,
  type SpokenSentence,
} from "../../core/domain/text/spoken-sentences.js";
import { withStoredPronunciations } from "../../core/domain/vocabulary.js";
import { Turns } from "../../core/kernel/turns.js";
import type { Delivery, SpeechWishes } from "../../core/ports/conversations.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { SPEED_RULE } from "../../core/protocol/synthesis-request.js";

/** A sentence that is delivered as a whole; its pieces are spoken one after another. */
interface PlannedSentence {
  readonly pieces: readonly Pick<SpokenPiece, "text" | "words">[];
  /** Silence before the sentence; none when absent. */
  readonly leadSamples?: number;
  /** Silence after the sentence. */
  readonly pauseSamples: number;
  /** Billed characters from the start of the text to the end of this sentence. */
  readonly charactersThrough: number;
}

export interface SynthesisPlan {
  readonly sentences: readonly PlannedSentence[];
  readonly billedCharacters: number;
  /** Characters (code points) of the text that cannot be spoken. They are still billed. */
  readonly droppedCharacters: number;
  readonly sampleRateHz: number;
  /** The requested speed; the job's speed also includes the voice's pace. */
  readonly speed: number;
  /** Room tone under the whole response; null for digital silence in pauses. */
  readonly roomTone: RoomToneSource | null;
  /** A job without its text. */
  readonly voicing: Omit<SynthesisJob, "spokenText">;
}

/**
 * Limit of speech that waits for a slow reader; beyond it, no further piece is started. Playback at normal
 * speed never runs dry because of it: synthesis takes about a tenth of a piece's duration.
 */
export const SECONDS_AHEAD = 60;
const BYTES_PER_SAMPLE = 2;
/** Silence between sentences, and at the end of a paragraph, for a voice whose breath is 1. */
const SENTENCE_PAUSE_MS = 250;
const PARAGRAPH_PAUSE_MS = 500;
/** Characters processed in one turn of the event loop, about 1 ms. A longer sentence gets its own turn. */
const CHARACTERS_PER_TURN = 500;
/** Shared by all long texts. */
const turns = new Turns();

/**
 * Splits a request for `model` into sentences that the synthesizer can speak.
 *
 * @param options.continues whether more speech follows the text, which then ends with a pause
 * @param options.isClause whether that speech belongs to the same sentence
 * @throws {ServiceError} `UNKNOWN_VOICE`, `NOTHING_TO_SAY`, `TEXT_TOO_LONG`
 */
export async function planSynthesis(
  request: SpeechWishes,
  model: SpeakingModel,
  { continues = false, isClause = false }: { readonly continues?: boolean; readonly isClause?: boolean } = {},
): Promise<SynthesisPlan> {
  const voice = request.voice ?? model.default_voice;
  const manner = model.voices.find((candidate) => candidate.name === voice)?.manner;
  if (manner === undefined) {
    const names = model.voices.map((candidate) => candidate.name).join(", ");
    throw new ServiceError("UNKNOWN_VOICE", `voice must be one of ${names}, received "${voice}"`);
  }
  const { text, pronunciations, storedPronunciations } = request;
  const dictionary = dictionaryOf(withStoredPronunciations(text, pronunciations, storedPronunciations));
  const reader = readerFor(model.lang.split("-"));
  const spoken = await readInTurns(request.text, { expand: request.normalize, dictionary, reader });
  const { pace, breath, melody, roomToneHz } = manner;
  const sentences = planSentences(request.text, spoken, {
    ...{ sampleRateHz: model.sample_rate, breath, continues, isClause },
  });
  if (sentences.length === 0) {
    const where = reader === "kazakh" ? " in Kazakh" : "";
    throw new ServiceError("NOTHING_TO_SAY", `text must hold something that can be spoken${where}`);
  }
  // A voice's pace stays within the range allowed for requests: beyond it models are untrained and drop
  // words.
  const speed = Math.min(SPEED_RULE.max, Math.max(SPEED_RULE.min, request.speed * pace));
  requireSpeakable(quantityOf(sentences, model.sample_rate, breath), { speed, asked: request.speed });
  const seed = request.seed ?? seedOf(request.text);
  return {
    sentences,
    billedCharacters: countCodePoints(request.text),
    droppedCharacters: spoken.reduce((sum, { dropped }) => sum + dropped.length, 0),
    sampleRateHz: model.sample_rate,
    speed: request.speed,
    roomTone: request.room_tone ? { cutoffHz: roomToneHz, seed } : null,
    voicing: { modelId: model.name, voice, speed, breath, melody, nfe: request.nfe, seed },
  };
}

async function readInTurns(text: string, options: ReadingOptions): Promise<SpokenSentence[]> {
  const sentences: SpokenSentence[] = [];
  let turnStart = 0;
  if (text.length > CHARACTERS_PER_TURN) await turns.next();
  for (const sentence of eachSpokenSentence(text, options)) {
    sentences.push(sentence);
    if (sentence.end - turnStart < CHARACTERS_PER_TURN) continue;
    turnStart = sentence.end;
    await turns.next();
  }
  return sentences;
}

interface PauseOptions {
  readonly sampleRateHz: number;
  readonly breath: number;
  /** More speech follows the last sentence. */
  readonly continues: boolean;
  /** That speech continues the last sentence. */
  readonly isClause: boolean;
}

function planSentences(
  text: string,
  spoken: readonly SpokenSentence[],
  { sampleRateHz, breath, continues, isClause }: PauseOptions,
): PlannedSentence[] {
  const said: SaidSentence[] = [];
  let leadMs = 0;
  let charactersThrough = 0;
  for (const { start, end, pieces, pauseMs } of spoken) {
    const written = text.slice(start, end);
    charactersThrough += countCodePoints(written);
    // A sentence of emoji or quotes has nothing to speak: it is dropped, but its characters are still billed.
    if (pieces.length > 0) said.push({ written, pieces, charactersThrough, markedMs: null });
    if (pauseMs === null) continue;
    // Pauses without speech between them add up.
    const last = said.at(-1);
    if (last === undefined) leadMs += pauseMs;
    else last.markedMs = (last.markedMs ?? 0) + pauseMs;
  }
  const toSamples = (milliseconds: number) => Math.round((Math.max(0, milliseconds) / 1_000) * sampleRateHz);
  return said.map((sentence, index) => {
    const isEnd = index === said.length - 1;
    const isLast = !continues && isEnd;
    const goesOn = isClause && isEnd && sentence.markedMs === null;
    const isInterrupted = goesOn || (sentence.markedMs !== null && !isLast);
    const pieces = closedPieces(sentence, isInterrupted);
    const pauseMs = goesOn
      ? pauseAfterMs(pieces.at(-1)!.text, breath)
      : pauseMsAfter(sentence, isLast, breath);
    return {
      pieces,
      ...(index === 0 && leadMs > 0 && { leadSamples: toSamples(leadMs - LEADING_MS) }),
      pauseSamples: toSamples(pauseMs),
      charactersThrough: sentence.charactersThrough,
    };
  });
}

/** A sentence that has something to speak. */
interface SaidSentence {
  readonly written: string;
  readonly pieces: readonly SpokenPiece[];
  readonly charactersThrough: number;
  /** Silence that pause marks request after the sentence; null if there are none. */
  markedMs: number | null;
}

/**
 * Returns the silence to insert. A pause mark counts from speech to speech, so the silence at the edges of
 * the pieces is subtracted.
 */
function pauseMsAfter({ written, markedMs }: SaidSentence, isLast: boolean, breath: number): number {
  if (markedMs !== null) return markedMs - TRAILING_MS - (isLast ? 0 : LEADING_MS);
  if (isLast) return 0;
  const endsParagraph = written.slice(written.trimEnd().length).includes("\n");
  return breath * (endsParagraph ? PARAGRAPH_PAUSE_MS : SENTENCE_PAUSE_MS);
}

/**
 * Adds missing end punctuation, since the model was trained on text that has it. A piece cut at a clause
 * keeps its comma; a sentence interrupted by a pause mark, or because the rest has not arrived, gets one.
 */
function closedPieces({ pieces }: SaidSentence, isInterrupted: boolean): SpokenPiece[] {
  return pieces.map((piece, index) => {
    if (/[.!?,;:—]$/.test(piece.text)) return piece;
    const mark = isInterrupted && index === pieces.length - 1 ? "," : ".";
    return { ...piece, text: piece.text + mark };
  });
}

/** Estimates the most bytes of samples in memory at any time, however slowly they are read. */
export function mostHeldBytes(plan: SynthesisPlan, delivery: Delivery): number {
  const { sentences, sampleRateHz } = plan;
  const { speed, breath = 1 } = plan.voicing;
  const secondsOf = (some: readonly PlannedSentence[]) =>
    speechSeconds(quantityOf(some, sampleRateHz, breath), speed);
  const all = secondsOf(sentences);
  if (delivery === "whole") return Math.ceil(all * sampleRateHz) * BYTES_PER_SAMPLE;
  // A piece that started just below that limit is completed, and the reader may be reading another one.
  let seconds = SECONDS_AHEAD + 2 * Math.max(0, ...sentences.map((one) => longestChunkSeconds(one, plan)));
  if (delivery === "sentences") seconds += Math.max(0, ...sentences.map((one) => secondsOf([one])));
  return Math.ceil(Math.min(all, seconds) * sampleRateHz) * BYTES_PER_SAMPLE;
}

/** Duration of the longest piece or pause in seconds; each is synthesized in one go. */
function longestChunkSeconds(
  { pieces, leadSamples = 0, pauseSamples }: PlannedSentence,
  plan: SynthesisPlan,
) {
  const longestPiece = Math.max(...pieces.map(({ text }) => text.length));
  const spoken = { characters: longestPiece, pieces: 1, pauseSeconds: leadSamples / plan.sampleRateHz };
  return Math.max(speechSeconds(spoken, plan.voicing.speed), pauseSamples / plan.sampleRateHz);
}

function quantityOf(
  sentences: readonly PlannedSentence[],
  sampleRateHz: number,
  breath: number,
): SpeechQuantity {
  const pieces = sentences.flatMap((sentence) => sentence.pieces);
  const betweenPiecesMs = pieces.reduce((sum, { text }) => sum + pauseAfterMs(text, breath), 0);
  const pauseSamples = sentences.reduce((sum, one) => sum + (one.leadSamples ?? 0) + one.pauseSamples, 0);
  return {
    characters: pieces.reduce((sum, { text }) => sum + text.length, 0),
    pieces: pieces.length,
    pauseSeconds: pauseSamples / sampleRateHz + betweenPiecesMs / 1_000,
  };
}
