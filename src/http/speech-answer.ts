import { type WavPiece, wavInParts } from "../../core/domain/audio/wav.js";
import type { Catalog } from "../../core/domain/catalog/catalog.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { textNotes } from "../../core/domain/text/notes.js";
import type { Caller, Delivery, SynthesisConversation } from "../../core/ports/conversations.js";
import type { Headers } from "../../core/ports/front.js";
import type { SpeechFormat } from "../../core/protocol/speak-query.js";
import type { SynthesisRequest } from "../../core/protocol/synthesis-request.js";
import type { AdmitDeps } from "./admit.js";
import type { Exchange } from "./exchange.js";
import { formattedSpeech } from "./formatted-speech.js";
import { endWithBody, type LongBody } from "./long-body.js";
import { fingerprintOf, type OnceDeps, onceByKey } from "./once-by-key.js";
import type { RouteDeps } from "./router.js";
import { converse, type SpeechShare } from "./running-work.js";

export interface HeldSpeech {
  readonly conversation: SynthesisConversation;
  readonly share: SpeechShare;
}

export type SpeechDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "speechBudget">;

export interface WantedSpeech {
  readonly caller: Caller;
  readonly key: string | null;
  readonly request: SynthesisRequest;
  /** Everything that determines the response, as parsed. */
  readonly fingerprintParts: readonly unknown[];
  readonly delivery: Delivery;
  /** Null, the default, for the voice's own format. */
  readonly format?: SpeechFormat | null;
}

/**
 * Synthesizes once per idempotency key, within the memory for unsent speech, and responds during the
 * conversation.
 * @throws {ServiceError} as `onceByKey`, `Conversations.synthesis` and `SpeechBudget.take`, and whatever
 *   `answer` throws
 */
export async function answerSpeech(
  exchange: Exchange,
  deps: SpeechDeps,
  { caller, key, request, fingerprintParts, delivery, format = null }: WantedSpeech,
  answer: (speech: HeldSpeech) => Promise<void>,
): Promise<void> {
  const fingerprint = () => fingerprintOf(exchange.request, ...fingerprintParts);
  const units = countCodePoints(request.text);
  const billed = { caller, key, kind: "synthesis", units, fingerprint } as const;
  await onceByKey(exchange, deps, billed, async (payer) => {
    const conversation = await deps.conversations.synthesis(payer, request, delivery);
    // Reserve memory before any speech is synthesized or charged.
    const share = deps.speechBudget.take(payer.identity.organizationId, mostBytesOf(conversation, format));
    try {
      await converse(exchange, deps, conversation, () => answer({ conversation, share }));
    } finally {
      share.release();
    }
  });
}

/** A higher sample rate means more bytes for the same speech. */
function mostBytesOf(
  { mostHeldBytes, sampleRateHz }: SynthesisConversation,
  format: SpeechFormat | null,
): number {
  return Math.ceil(mostHeldBytes * Math.max(1, (format?.sampleRateHz ?? 0) / sampleRateHz));
}

/** Adds a header with notes on the text, if there are any. */
export function noteText(exchange: Exchange, { text, model }: SynthesisRequest, { speaking }: Catalog): void {
  const languages = speaking.find(model)?.lang.split("-") ?? [];
  // All notes are about Kazakh speech.
  if (languages.length > 0 && !languages.includes("kk")) return;
  const notes = textNotes(text).filter((note) => note !== "russian_text" || !languages.includes("ru"));
  if (notes.length > 0) exchange.addHeaders({ "x-svc-notes": notes.join(",") });
}

/** Responds with one WAV. Its length is known once the last sentence is synthesized. */
export async function answerWithWav(
  exchange: Exchange,
  { conversation, share }: HeldSpeech,
  format: SpeechFormat | null = null,
): Promise<void> {
  const pieces: WavPiece[] = [];
  const speech = formattedSpeech(conversation, format);
  for await (const { piece } of speech.chunks()) pieces.push(piece);
  const wav = wavInParts(pieces, speech.sampleRateHz, undefined, speech.encoding);
  share.settle(wav.bytes);
  await conversation.charge();
  exchange.start(200, sizedHead("audio/wav", wav, conversation));
  await endWithBody(exchange, wav, conversation.answer);
  conversation.complete();
}

export function sizedHead(type: string, { bytes }: LongBody, conversation: SynthesisConversation): Headers {
  return { "content-type": type, "content-length": String(bytes), ...speechHeaders(conversation) };
}

export function speechHeaders(conversation: SynthesisConversation): Record<string, string> {
  const { modelId, billedCharacters, creditsCharged } = conversation;
  return {
    "x-svc-model": modelId,
    "x-svc-chars": String(billedCharacters),
    "x-svc-credits": String(creditsCharged),
  };
}
