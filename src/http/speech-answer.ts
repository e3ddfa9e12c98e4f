import { wavInParts } from "../../core/domain/audio/wav.js";
import type { Catalog } from "../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../core/domain/errors.js";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { textNotes } from "../../core/domain/text/notes.js";
import type { Caller, Delivery, SynthesisConversation } from "../../core/ports/conversations.js";
import type { Headers } from "../../core/ports/front.js";
import type { SynthesisRequest } from "../../core/protocol/synthesis-request.js";
import type { AdmitDeps } from "./admit.js";
import type { Exchange } from "./exchange.js";
import { endWithBody, type LongBody } from "./long-body.js";
import { fingerprintOf, type OnceDeps, onceByKey } from "./once-by-key.js";
import type { RouteDeps } from "./route.js";
import { converse } from "./running-work.js";

/** A conversation and the memory reserved for it. */
export interface HeldSpeech {
  readonly conversation: SynthesisConversation;
  readonly share: SpeechShare;
}

export type SpeechDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "speechBudget">;

export interface WantedSpeech {
  readonly caller: Caller;
  /** From `idempotencyKey`. */
  readonly key: string | null;
  readonly request: SynthesisRequest;
  /** Everything that determines the response, as parsed. */
  readonly decides: readonly unknown[];
  readonly delivery: Delivery;
}

/**
 * Synthesizes once per idempotency key, within the memory for unsent speech, and responds during the
 * conversation.
 * @throws {ServiceError} as `onceByKey`, `Conversations.synthesis` and `SpeechBudget.take`, and what `answer`
 *   throws
 */
export async function answerSpeech(
  exchange: Exchange,
  deps: SpeechDeps,
  { caller, key, request, decides, delivery }: WantedSpeech,
  answer: (speech: HeldSpeech) => Promise<void>,
): Promise<void> {
  const fingerprint = () => fingerprintOf(exchange.request, ...decides);
  const units = countCodePoints(request.text);
  const billed = { caller, key, kind: "synthesis", units, fingerprint } as const;
  await onceByKey(exchange, deps, billed, async (payer) => {
    const conversation = await deps.conversations.synthesis(payer, request, delivery);
    // Before any speech is made or paid for.
    const share = deps.speechBudget.take(payer.identity.organizationId, conversation.mostHeldBytes);
    try {
      await converse(exchange, deps, conversation, () => answer({ conversation, share }));
    } finally {
      share.release();
    }
  });
}

/** Adds a header with notes on the text, if there are any. */
export function noteText(exchange: Exchange, { text, model }: SynthesisRequest, { speaking }: Catalog): void {
  const languages = speaking.find(model)?.lang.split("-") ?? [];
  // All notes are about Kazakh speech.
  if (languages.length > 0 && !languages.includes("kk")) return;
  const notes = textNotes(text).filter((note) => note !== "russian_text" || !languages.includes("ru"));
  if (notes.length > 0) exchange.addHeaders({ "x-svc-notes": notes.join(",") });
}

/** Responds with one WAV, whose length is known once the last sentence is. */
export async function answerWithWav(exchange: Exchange, { conversation, share }: HeldSpeech): Promise<void> {
  const pieces: Int16Array[] = [];
  for await (const { pcm } of conversation.chunks()) pieces.push(pcm);
  const wav = wavInParts(pieces, conversation.sampleRateHz);
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

/** The share of the budget that one organization may use. */
const ORGANIZATION_SHARE = 1 / 2;

/** The memory of one response. */
export interface SpeechShare {
  /** Replaces the estimate by the actual size. */
  settle(bytes: number): void;
  /** May be called twice. */
  release(): void;
}

/**
 * Limits the memory of unsent speech, for all responses together and for each organization. By an upper
 * estimate, a response that does not fit is rejected before any of it is made. A single response always fits.
 */
export class SpeechBudget {
  readonly #capacityBytes: number;
  #takenBytes = 0;
  /** Organizations without speech in memory have no entry. */
  readonly #takenBy = new Map<string, number>();

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * @param bytes an upper estimate of what the response holds at a time
   * @throws {ServiceError} `TOO_MANY_REQUESTS` if the organization has too much, `ENGINE_BUSY` if all
   *   together do
   */
  take(organizationId: string, bytes: number): SpeechShare {
    this.#check(organizationId, bytes);
    let taken = 0;
    let isReleased = false;
    const settle = (settled: number) => {
      if (isReleased) return;
      this.#count(organizationId, settled - taken);
      taken = settled;
    };
    settle(bytes);
    return {
      settle,
      release: () => {
        settle(0);
        isReleased = true;
      },
    };
  }

  #check(organizationId: string, bytes: number): void {
    const own = this.#takenBy.get(organizationId) ?? 0;
    if (own > 0 && own + bytes > this.#capacityBytes * ORGANIZATION_SHARE) {
      throw new ServiceError(
        "TOO_MANY_REQUESTS",
        `the answers of an organization may hold ${megabytes(this.#capacityBytes * ORGANIZATION_SHARE)} MB of speech at ` +
          `once, received ${megabytes(bytes)} MB more than ${megabytes(own)} MB: wait until one has ended, or read it as a ` +
          "stream",
      );
    }
    if (this.#takenBytes > 0 && this.#takenBytes + bytes > this.#capacityBytes) {
      throw new ServiceError(
        "ENGINE_BUSY",
        "the service holds as much unsent speech as it has memory for: try again in a moment, or read it as a stream",
      );
    }
  }

  #count(organizationId: string, bytes: number): void {
    this.#takenBytes += bytes;
    const own = (this.#takenBy.get(organizationId) ?? 0) + bytes;
    if (own > 0) this.#takenBy.set(organizationId, own);
    else this.#takenBy.delete(organizationId);
  }
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
