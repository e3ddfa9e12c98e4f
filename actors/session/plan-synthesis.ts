import { SpeechError } from "../../src/domain/errors.js";
import { seedOf } from "../../src/domain/synthesis/noise.js";
import { type SpokenSentence, spokenSentences } from "../../src/domain/text/spoken-sentences.js";
import type { SynthesisRequest } from "../../src/protocol/synthesis-request.js";
import type { CatalogModel } from "./conversation.js";
import type { PlannedSentence, SynthesisPlan } from "./synthesis.js";

/** Silence between sentences, and where a paragraph ends. */
const SENTENCE_PAUSE_MS = 250;
const PARAGRAPH_PAUSE_MS = 500;

/**
 * Turns a request into sentences that the synthesizer can speak.
 * @throws {SpeechError} `UNKNOWN_MODEL`, `UNKNOWN_VOICE`, `NOTHING_TO_SAY`
 */
export function planSynthesis(request: SynthesisRequest, models: readonly CatalogModel[]): SynthesisPlan {
  const speaking = models.filter((candidate) => candidate.task === "synthesis");
  const model = speaking.find((candidate) => candidate.name === request.model);
  if (model === undefined) {
    const names = speaking.map((candidate) => candidate.name).join(", ");
    throw new SpeechError("UNKNOWN_MODEL", `model must be one of ${names}, received "${request.model}"`);
  }
  const voice = request.voice ?? model.default_voice;
  if (!model.voices.some((candidate) => candidate.name === voice)) {
    const names = model.voices.map((candidate) => candidate.name).join(", ");
    throw new SpeechError("UNKNOWN_VOICE", `voice must be one of ${names}, received "${voice}"`);
  }
  const spoken = spokenSentences(request.text, { expand: request.normalize });
  const sentences = planSentences(request.text, spoken, model.sample_rate);
  if (sentences.length === 0) {
    throw new SpeechError("NOTHING_TO_SAY", "text must hold something that can be spoken in Kazakh");
  }
  return {
    sentences,
    billedCharacters: countCodePoints(request.text),
    droppedCharacters: spoken.reduce((sum, { dropped }) => sum + dropped.length, 0),
    sampleRateHz: model.sample_rate,
    voicing: {
      modelId: model.name,
      voice,
      speed: request.speed,
      nfe: request.nfe,
      seed: request.seed ?? seedOf(request.text),
    },
  };
}

/** The unit of the price: Unicode code points of the text as it was sent. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function planSentences(
  text: string,
  spoken: readonly SpokenSentence[],
  sampleRateHz: number,
): PlannedSentence[] {
  const sentences: PlannedSentence[] = [];
  let charactersThrough = 0;
  for (const { start, end, pieces } of spoken) {
    const written = text.slice(start, end);
    charactersThrough += countCodePoints(written);
    // Emoji, quotes and the like leave nothing to say; the sentence is dropped, its characters stay billed.
    if (pieces.length === 0) continue;
    const pauseMs = /\n\s*$/.test(written) ? PARAGRAPH_PAUSE_MS : SENTENCE_PAUSE_MS;
    const pauseSamples = Math.round((pauseMs / 1_000) * sampleRateHz);
    const closedPieces = pieces.map((piece) => ({ ...piece, text: closed(piece.text) }));
    sentences.push({ pieces: closedPieces, pauseSamples, charactersThrough });
  }
  return sentences;
}

/** The model was trained on text that ends like a sentence; a piece cut at a clause keeps its comma. */
function closed(piece: string): string {
  return /[.!?,;:—]$/.test(piece) ? piece : `${piece}.`;
}
