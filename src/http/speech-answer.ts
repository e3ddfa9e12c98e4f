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

/** A conversation, and the share of memory that is set aside for it. */
export interface HeldSpeech {
  readonly conversation: SynthesisConversation;
  readonly share: SpeechShare;
}

/** What it takes to speak. */
export type SpeechDeps = AdmitDeps & OnceDeps & Pick<RouteDeps, "conversations" | "speechBudget">;

/** Speech that is asked for, on whichever path. */
export interface WantedSpeech {
  readonly caller: Caller;
  /** From `idempotencyKey`. */
  readonly key: string | null;
  readonly request: SynthesisRequest;
  /** Everything that decides about the answer, as it was understood. */
  readonly decides: readonly unknown[];
  readonly delivery: Delivery;
}

/**
 * Speaks, unless the request's idempotency key says that this was done before, and answers while the conversation is on.
 * @throws {ServiceError} as `onceByKey`, `Conversations.synthesis` and `withMemory`, and what `answer` throws
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
    await withMemory(deps.speechBudget, payer, conversation, (speech) =>
      converse(exchange, deps, conversation, () => answer(speech)),
    );
  });
}

/**
 * Sets memory aside for speech before any is made or paid, until `work` is done.
 * @throws {ServiceError} `TOO_MANY_REQUESTS` or `ENGINE_BUSY` when there is not enough, and whatever `work` throws
 */
async function withMemory(
  speechBudget: SpeechBudget,
  { identity }: Caller,
  conversation: SynthesisConversation,
  work: (speech: HeldSpeech) => Promise<void>,
): Promise<void> {
  const share = speechBudget.take(identity.organizationId, conversation.mostHeldBytes);
  try {
    await work({ conversation, share });
  } finally {
    share.release();
  }
}

/** Tells in a header what the caller should know about a text; nothing when there is nothing. */
export function noteText(exchange: Exchange, { text, model }: SynthesisRequest, { speaking }: Catalog): void {
  const languages = speaking.find(model)?.lang.split("-") ?? [];
  // The notes are about Kazakh speech.
  if (languages.length > 0 && !languages.includes("kk")) return;
  const notes = textNotes(text).filter((note) => note !== "russian_text" || !languages.includes("ru"));
  if (notes.length > 0) exchange.addHeaders({ "x-svc-notes": notes.join(",") });
}

/** One WAV with a true length, which is known when the last sentence is. */
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

/** Who speaks, what a synthesis is billed for, and what it cost. */
export function speechHeaders(conversation: SynthesisConversation): Record<string, string> {
  const { modelId, billedCharacters, creditsCharged } = conversation;
  return {
    "x-svc-model": modelId,
    "x-svc-chars": String(billedCharacters),
    "x-svc-credits": String(creditsCharged),
  };
}

/** What one organization may take of the budget. */
const ORGANIZATION_SHARE = 1 / 2;

/** What one answer takes of the budget. */
export interface SpeechShare {
  /** Its size is known now. */
  settle(bytes: number): void;
  /** Nothing of it is held any more. May be called twice. */
  release(): void;
}

/**
 * Bounds the memory of speech that is made and not yet sent, of all answers together and of each organization's. What does
 * not fit is refused before any of it is made, by an upper guess; one answer alone always fits.
 */
export class SpeechBudget {
  readonly #capacityBytes: number;
  #takenBytes = 0;
  /** Organizations that hold nothing have no entry. */
  readonly #takenBy = new Map<string, number>();

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  /** Bytes of all answers together. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * @param bytes upper guess at what the answer holds at once
   * @throws {ServiceError} `TOO_MANY_REQUESTS` when its organization holds too much, `ENGINE_BUSY` when all together do
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
