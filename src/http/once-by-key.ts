import { createHash } from "node:crypto";
import { isUnpaid, ServiceError } from "../../core/domain/errors.js";
import type { Caller } from "../../core/ports/conversations.js";
import type { FrontRequest } from "../../core/ports/front.js";
import type { KeptAnswer, KeyedRequest, Paid } from "../../core/ports/idempotency.js";
import { type OrganizationDefaults, pickedDefaults } from "../../core/protocol/organization-defaults.js";
import type { SynthesisRequest } from "../../core/protocol/synthesis-request.js";
import type { Exchange } from "./exchange.js";
import { AnswerCopy } from "./kept-answers.js";
import type { RouteDeps } from "./router.js";
import { converse } from "./running-work.js";

export type OnceDeps = Pick<RouteDeps, "running" | "idempotency" | "answers">;

/** Reads the idempotency key of a request; null without one. @throws {ServiceError} `INVALID_REQUEST` */
export function idempotencyKey(request: FrontRequest): string | null {
  const key = request.header("idempotency-key")?.trim();
  if (key === undefined) return null;
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new ServiceError("INVALID_REQUEST", "Idempotency-Key must be 1 to 255 printable ASCII characters");
}

/**
 * Hashes the meaning of a request, so that the same request in a different notation has the same fingerprint.
 *
 * @param parts everything that determines the response, as parsed; the order of an object's members counts
 */
export function fingerprintOf(request: FrontRequest, ...parts: readonly unknown[]): Uint8Array {
  return createHash("sha256")
    .update(JSON.stringify([request.method, request.path, ...parts]))
    .digest();
}

export interface BilledRequest {
  readonly caller: Caller;
  readonly key: string | null;
  readonly kind: KeyedRequest["kind"];
  /** Number of characters of a synthesis; 0 for a file. */
  readonly units: number;
  /** Not called for a request without a key. */
  readonly fingerprint: () => Uint8Array;
  /** True if the audio becomes known only during the work, which must then call `reportAudio`. */
  readonly isAudioKnownLater?: boolean;
}

/**
 * Reports which audio the work will use, before anything is charged.
 * @returns the caller who pays for it
 * @throws {ServiceError} `IDEMPOTENCY_KEY_REUSED` if different audio was charged under the key;
 *   `AUTH_UNAVAILABLE`
 */
export type ReportAudio = (audioSha256: () => Uint8Array) => Promise<Caller>;

/**
 * Runs a billed request once per idempotency key; repeats get the stored response. Nobody is charged twice
 * under one key: if the response was lost after the charge, the work is repeated for free.
 *
 * @throws {ServiceError} `IDEMPOTENCY_KEY_IN_USE`, `IDEMPOTENCY_KEY_REUSED`, `AUTH_UNAVAILABLE`, and whatever
 *   `work` throws
 */
export async function onceByKey(
  exchange: Exchange,
  deps: OnceDeps,
  billed: BilledRequest,
  work: (caller: Caller, reportAudio: ReportAudio) => Promise<void>,
): Promise<void> {
  const { caller, key, kind } = billed;
  if (key === null) return work(caller, async () => caller);
  const { requestId, identity } = caller;
  const request = { organizationId: identity.organizationId, key, kind, requestId };
  const keyed = { ...request, fingerprint: billed.fingerprint() };
  let claim = await deps.idempotency.claim(keyed);
  if (claim.type === "answered") {
    if (await replay(exchange, deps, claim.answer)) return;
    claim = await deps.idempotency.claim({ ...keyed, lostAnswerOf: claim.answer.requestId });
  }
  // A second "answered" means that a concurrent retry has just repeated the work.
  if (claim.type === "in-use" || claim.type === "answered") {
    const message = "a request with this Idempotency-Key is still running; try again when it has ended";
    throw new ServiceError("IDEMPOTENCY_KEY_IN_USE", message);
  }
  if (claim.type === "reused") {
    const message = "this Idempotency-Key belongs to another request; send that one again, or use a new key";
    throw new ServiceError("IDEMPOTENCY_KEY_REUSED", message);
  }
  const { attempt, paid } = claim;
  const { organizationId } = identity;
  const copy = new AnswerCopy({ requestId, organizationId, attempt, files: deps.answers, log: exchange.log });
  exchange.listener = copy;
  const payerOf = (known: Paid | null) => {
    if (known !== null) exchange.addHeaders(paidHeaders(known, billed));
    return known === null ? caller : { ...caller, paid: known };
  };
  const reportAudio: ReportAudio = async (audioSha256) => {
    const sha256 = audioSha256();
    if (paid === null) await attempt.hears(sha256);
    return payerOf(paid === null ? null : heardAgain(paid, sha256));
  };
  try {
    if (billed.isAudioKnownLater === true) await work(caller, reportAudio);
    else await work(payerOf(paid), reportAudio);
  } finally {
    exchange.listener = null;
    await copy.ended();
  }
}

/**
 * Rejects a caller without credits before an upload is read. A known idempotency key passes, because the
 * request may have been paid for with the last credits.
 *
 * @throws {ServiceError} `OUT_OF_CREDITS`, `KEY_BUDGET_EXCEEDED`, `AUTH_UNAVAILABLE`
 */
export async function requireCreditForFile(
  deps: Pick<RouteDeps, "conversations" | "idempotency">,
  caller: Caller,
  key: string | null,
): Promise<void> {
  try {
    await deps.conversations.requireCredit(caller, "file");
  } catch (thrown) {
    const isRefused = thrown instanceof ServiceError && isUnpaid(thrown.code);
    if (!isRefused || key === null) throw thrown;
    if (!(await deps.idempotency.isKnown(caller.identity.organizationId, key))) throw thrown;
  }
}

/** Sends a stored response again. Returns false, with nothing sent, if its body is missing. */
async function replay(exchange: Exchange, deps: OnceDeps, answer: KeptAnswer): Promise<boolean> {
  const { requestId, bytes, body, status, headers } = answer;
  const chunks = body === null ? await deps.answers.read(requestId, bytes) : [body];
  if (chunks === null) return false;
  exchange.addHeaders(replayHeaders(answer.chargedRequestId));
  // There is no work to stop: if the client leaves, writing fails.
  await converse(exchange, deps, { stop: () => {} }, async () => {
    exchange.start(status, { ...headers, "content-length": String(bytes) });
    // The response has a length, so its last bytes must be passed to `end`.
    let last: Uint8Array | undefined;
    for await (const chunk of chunks) {
      if (last !== undefined) await exchange.write(last);
      last = chunk;
    }
    await exchange.end(last);
  });
  return true;
}

/** Applies an earlier payment to the audio of this attempt. */
function heardAgain(paid: Paid, sha256: Uint8Array): Paid {
  // An older version did not record the audio, so charge what this audio costs beyond the payment.
  if (paid.audioSha256 == null) return { ...paid, isAudioUnknown: true };
  if (Buffer.compare(paid.audioSha256, sha256) === 0) return paid;
  throw new ServiceError(
    "IDEMPOTENCY_KEY_REUSED",
    "the audio at the URL has changed since it was charged under this Idempotency-Key; use a new key",
  );
}

/** Headers of a response that costs nothing because another request has paid for it. */
function replayHeaders(chargedRequestId: string): Record<string, string> {
  return { "idempotent-replayed": "true", "original-request": chargedRequestId };
}

function paidHeaders(paid: Paid, { kind, units }: BilledRequest): Record<string, string> {
  const isAllPaid = kind === "file" ? paid.isAudioUnknown !== true : paid.units >= units;
  return isAllPaid ? replayHeaders(paid.requestId) : { "original-request": paid.requestId };
}

/**
 * The only models that existed when IDs were added to requests. Requests that specify no model, or one of
 * these, keep their earlier fingerprint, regardless of which model serves them now.
 */
const FIRST_SPEAKING = "svc-kk-v1";
const FIRST_HEARING = "svc-kk-ru-v2";

/** Returns a synthesis request for its fingerprint, which defaults added later do not change. */
export function speechForFingerprint(request: SynthesisRequest) {
  const { model, room_tone, organization_defaults } = request;
  // Members keep their order, and undefined ones are not serialized.
  return {
    ...{ ...request, model: model ?? FIRST_SPEAKING, room_tone: room_tone ? undefined : false },
    organization_defaults: organization_defaults === false ? false : undefined,
  };
}

/** Returns the part that the model adds to the fingerprint of a transcription. */
export function modelForFingerprint(asked: {
  readonly model: { readonly name: string };
  readonly isModelNamed: boolean;
}): readonly string[] {
  const { name } = asked.model;
  return asked.isModelNamed && name !== FIRST_HEARING ? [name] : [];
}

/** Returns what leaving out the organization's stored words adds to the fingerprint of a transcription. */
export function defaultsForFingerprint(asked: OrganizationDefaults): readonly OrganizationDefaults[] {
  return asked.organizationDefaults === false ? [pickedDefaults(asked)] : [];
}
