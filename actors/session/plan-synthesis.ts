import { SpeechError } from "../../src/domain/errors.js";
import { seedOf } from "../../src/domain/synthesis/noise.js";
import { normalizeKazakh } from "../../src/domain/text/kazakh/normalize.js";
import { splitIntoPieces, splitIntoSentences } from "../../src/domain/text/sentences.js";
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
  const sentences = planSentences(request, model.sample_rate);
  if (sentences.length === 0) {
    throw new SpeechError("NOTHING_TO_SAY", "text must hold something that can be spoken in Kazakh");
  }
  return {
    sentences,
    billedCharacters: countCodePoints(request.text),
    sampleRateHz: model.sample_rate,
    voicing: {
      modelId: model.name,
      voice,
      speed: request.speed,
      nfe: request.nfe,
      seed: seedOf(request.text),
    },
  };
}

/** The unit of the price: Unicode code points of the text as it was sent. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function planSentences(request: SynthesisRequest, sampleRateHz: number): PlannedSentence[] {
  const sentences: PlannedSentence[] = [];
  let charactersThrough = 0;
  for (const sentence of splitIntoSentences(request.text)) {
    charactersThrough += countCodePoints(sentence);
    const { spoken } = normalizeKazakh(sentence, { expand: request.normalize });
    // Emoji, quotes and the like leave nothing to say; the sentence is dropped, its characters stay billed.
    const pieces = spoken === "" ? [] : splitIntoPieces(spoken).map(closed);
    if (pieces.length === 0) continue;
    const pauseMs = /\n\s*$/.test(sentence) ? PARAGRAPH_PAUSE_MS : SENTENCE_PAUSE_MS;
    const pauseSamples = Math.round((pauseMs / 1_000) * sampleRateHz);
    sentences.push({ pieces, pauseSamples, charactersThrough });
  }
  return sentences;
}

/** The model was trained on text that ends like a sentence; a piece cut at a clause keeps its comma. */
function closed(piece: string): string {
  return /[.!?,;:—]$/.test(piece) ? piece : `${piece}.`;
}
