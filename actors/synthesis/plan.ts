import type { SpeakingModel } from "../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../core/domain/errors.js";
import { requireSpeakable } from "../../core/domain/synthesis/longest-speech.js";
import { seedOf } from "../../core/domain/synthesis/noise.js";
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
import { Turns } from "../../core/kernel/turns.js";
import { SPEED_RULE, type SynthesisRequest } from "../../core/protocol/synthesis-request.js";
import { quantityOf } from "./held-speech.js";
import type { PlannedSentence, SynthesisPlan } from "./planned-speech.js";

/** Silence between sentences, and where a paragraph ends, of a voice whose breath is 1. */
const SENTENCE_PAUSE_MS = 250;
const PARAGRAPH_PAUSE_MS = 500;
/** Written characters that are read in one turn of the event loop: about a millisecond. A longer sentence has its own. */
const CHARACTERS_PER_TURN = 500;
/** Of all long texts. */
const turns = new Turns();

/**
 * Turns a request into sentences that the synthesizer can speak.
 *
 * @param model the one that the request means
 * @throws {ServiceError} `UNKNOWN_VOICE`, `NOTHING_TO_SAY`, `TEXT_TOO_LONG`
 */
export async function planSynthesis(request: SynthesisRequest, model: SpeakingModel): Promise<SynthesisPlan> {
  const voice = request.voice ?? model.default_voice;
  const manner = model.voices.find((candidate) => candidate.name === voice)?.manner;
  if (manner === undefined) {
    const names = model.voices.map((candidate) => candidate.name).join(", ");
    throw new ServiceError("UNKNOWN_VOICE", `voice must be one of ${names}, received "${voice}"`);
  }
  const dictionary = dictionaryOf(request.pronunciations);
  const reader = readerFor(model.lang.split("-"));
  const spoken = await readInTurns(request.text, { expand: request.normalize, dictionary, reader });
  const { pace, breath, melody, roomToneHz } = manner;
  const sentences = planSentences(request.text, spoken, { sampleRateHz: model.sample_rate, breath });
  if (sentences.length === 0) {
    const where = reader === "kazakh" ? " in Kazakh" : "";
    throw new ServiceError("NOTHING_TO_SAY", `text must hold something that can be spoken${where}`);
  }
  // A voice's pace takes it nowhere that a request could not: beyond, models were not trained, and lose words.
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
    voicing: {
      modelId: model.name,
      voice,
      speed,
      breath,
      melody,
      nfe: request.nfe,
      seed,
    },
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

function planSentences(
  text: string,
  spoken: readonly SpokenSentence[],
  { sampleRateHz, breath }: { readonly sampleRateHz: number; readonly breath: number },
): PlannedSentence[] {
  const said: SaidSentence[] = [];
  let leadMs = 0;
  let charactersThrough = 0;
  for (const { start, end, pieces, pauseMs } of spoken) {
    const written = text.slice(start, end);
    charactersThrough += countCodePoints(written);
    // Emoji, quotes and the like leave nothing to say; the sentence is dropped, its characters stay billed.
    if (pieces.length > 0) said.push({ written, pieces, charactersThrough, markedMs: null });
    if (pauseMs === null) continue;
    // Marks with nothing said between them add up.
    const last = said.at(-1);
    if (last === undefined) leadMs += pauseMs;
    else last.markedMs = (last.markedMs ?? 0) + pauseMs;
  }
  const toSamples = (milliseconds: number) => Math.round((Math.max(0, milliseconds) / 1_000) * sampleRateHz);
  return said.map((sentence, index) => {
    const isLast = index === said.length - 1;
    return {
      pieces: closedPieces(sentence, isLast),
      ...(index === 0 && leadMs > 0 && { leadSamples: toSamples(leadMs - LEADING_MS) }),
      pauseSamples: toSamples(pauseMsAfter(sentence, isLast, breath)),
      charactersThrough: sentence.charactersThrough,
    };
  });
}

/** A sentence that is heard. */
interface SaidSentence {
  readonly written: string;
  readonly pieces: readonly SpokenPiece[];
  readonly charactersThrough: number;
  /** Silence that marks ask for after it; null where none does. */
  markedMs: number | null;
}

/** A mark asks for silence from speech to speech, and the edges of the pieces are a part of it. */
function pauseMsAfter({ written, markedMs }: SaidSentence, isLast: boolean, breath: number): number {
  if (markedMs !== null) return markedMs - TRAILING_MS - (isLast ? 0 : LEADING_MS);
  if (isLast) return 0;
  const endsParagraph = written.slice(written.trimEnd().length).includes("\n");
  return breath * (endsParagraph ? PARAGRAPH_PAUSE_MS : SENTENCE_PAUSE_MS);
}

/**
 * The model was trained on text that ends like a sentence; a piece cut at a clause keeps its comma. A sentence that a pause
 * mark interrupts goes on after it.
 */
function closedPieces({ pieces, markedMs }: SaidSentence, isLast: boolean): SpokenPiece[] {
  const isInterrupted = markedMs !== null && !isLast;
  return pieces.map((piece, index) => {
    if (/[.!?,;:—]$/.test(piece.text)) return piece;
    const mark = isInterrupted && index === pieces.length - 1 ? "," : ".";
    return { ...piece, text: piece.text + mark };
  });
}
