import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { requireDiarization } from "../../../core/domain/catalog/catalog.js";
import type { HotWord } from "../../../core/domain/decoding/hot-words.js";
import { isUnpaid, ServiceError } from "../../../core/domain/errors.js";
import type { Job, JobOptions } from "../../../core/domain/jobs/job.js";
import { speakerLines } from "../../../core/domain/text/speaker-lines.js";
import { withStoredHotWords } from "../../../core/domain/vocabulary.js";
import type { Caller } from "../../../core/ports/conversations.js";
import type { Jobs, NewJob, Submitted, WebhookSecret } from "../../../core/ports/jobs.js";
import { ENDLESS_ROOM } from "../../../core/ports/spool-room.js";
import { NO_QUERY } from "../../../core/protocol/catalog-schemas.js";
import {
  JOB_RESULT_QUERY,
  parseJobQuery,
  parseJobsQuery,
  type ResultFormat,
} from "../../../core/protocol/job-queries.js";
import { jobBody, requestedResult } from "../../../core/protocol/job-response.js";
import type { JobEndBody, JobsBody, WebhookSecretBody } from "../../../core/protocol/job-schemas.js";
import { readQuery } from "../../../core/protocol/query.js";
import type { TranscribeOptions } from "../../../core/protocol/transcribe-query.js";
import type { Transcription } from "../../../core/protocol/transcription-schemas.js";
import { type AdmitDeps, admit } from "../admit.js";
import { uploadOf } from "../audio-source.js";
import type { Exchange } from "../exchange.js";
import { endWithBody, jsonInTurns, type LongBody, textBody } from "../long-body.js";
import { defaultsForFingerprint, fingerprintOf, idempotencyKey } from "../once-by-key.js";
import type { Handlers, PathParams, RouteDeps } from "../router.js";
import { LONGEST_UPLOAD_BYTES, safeExtension, withUpload } from "../spool.js";
import { subtitleBody } from "../subtitles.js";
import type { Upload } from "../transcribed-upload.js";

type JobDeps = AdmitDeps &
  Pick<RouteDeps, "conversations" | "jobs" | "webhooks" | "urls" | "room" | "spoolDir">;

type JobOperation =
  | "POST /v1/jobs/transcriptions"
  | "GET /v1/jobs"
  | "GET /v1/jobs/{id}"
  | "GET /v1/jobs/{id}/result"
  | "DELETE /v1/jobs/{id}"
  | "GET /v1/jobs/webhook-secret"
  | "POST /v1/jobs/webhook-secret";

const NO_STORE = { "cache-control": "no-store" };
const LONGEST_FILE_NAME = 255;
const READ_BYTES = 2 ** 20;

/** Handlers for transcriptions that continue after their request ends. */
export function jobHandlers(deps: JobDeps): Handlers<JobOperation> {
  const { jobs } = deps;
  return {
    "POST /v1/jobs/transcriptions": (exchange) => submit(exchange, deps),
    "GET /v1/jobs": async (exchange) => {
      const { identity } = await admit(exchange, deps, null);
      const page = parseJobsQuery(exchange.request.query);
      const found = await jobs.list(identity.organizationId, page);
      const next = found.length === page.limit ? (found.at(-1)?.id ?? null) : null;
      const body: JobsBody = { data: found.map(jobBody), next };
      await exchange.json(200, body, NO_STORE);
    },
    "GET /v1/jobs/{id}": async (exchange, params) => {
      const { job } = await ownJob(exchange, deps, params);
      readQuery(NO_QUERY, exchange.request.query);
      await exchange.json(200, jobBody(job), NO_STORE);
    },
    "GET /v1/jobs/{id}/result": (exchange, params) => sendResult(exchange, deps, params),
    "DELETE /v1/jobs/{id}": async (exchange, { id = "" }) => {
      const { identity } = await admit(exchange, deps, null);
      readQuery(NO_QUERY, exchange.request.query);
      const status = await jobs.end(identity.organizationId, id);
      if (status === null) throw noSuchJob(id);
      const body: JobEndBody = { id, status };
      await exchange.json(200, body, NO_STORE);
    },
    "GET /v1/jobs/webhook-secret": (exchange) =>
      sendSecret(exchange, deps, (organizationId) => jobs.webhookSecret(organizationId)),
    "POST /v1/jobs/webhook-secret": (exchange) =>
      sendSecret(exchange, deps, (organizationId) => jobs.rotateWebhookSecret(organizationId)),
  };
}

async function submit(exchange: Exchange, deps: JobDeps): Promise<void> {
  const { request } = exchange;
  const caller = await admit(exchange, deps, null);
  const key = idempotencyKey(request);
  const { webhookUrl, ...asked } = parseJobQuery(request.query, deps.conversations.catalog.hearing);
  if (webhookUrl !== null) deps.webhooks.check(webhookUrl);
  if (asked.speakers !== null) requireDiarization(deps.conversations.catalog);
  await requireCreditForJob(deps, caller, key);
  const upload = await uploadOf(request, asked.urls, deps);
  const { timestamps, hotWords, reading, speakers, channels, raw } = asked;
  const options: JobOptions = {
    ...{ model: asked.model.name, timestamps, hotWords, reading },
    ...(speakers !== null && { speakers }),
    ...(channels !== "mix" && { channels }),
    ...(raw !== null && { raw }),
  };
  const { url = null } = upload;
  // The default model may change between two attempts at the same request.
  const meaning = [options, asked.isModelNamed, webhookUrl, url, ...defaultsForFingerprint(asked)];
  const heard = { ...options, hotWords: await preferredWords(asked, caller, deps) };
  const job = (sha256: string | null): NewJob => ({
    ...{ organizationId: caller.identity.organizationId, keyId: caller.identity.keyId },
    ...{ options: heard, url, webhookUrl, fileName: shownFileName(upload.fileName) },
    idempotencyKey: key,
    fingerprint: key === null ? null : fingerprintOf(request, ...meaning, sha256),
  });
  if (url !== null) return accept(exchange, await deps.jobs.submit(job(null), null));
  await submitUpload({ exchange, deps, caller, upload, job });
}

/** Returns the job's hot words with those that the organization has stored now, not when the job runs. */
async function preferredWords(
  { hotWords, model, organizationDefaults }: TranscribeOptions,
  { identity }: Caller,
  { vocabularies }: JobDeps,
): Promise<readonly HotWord[]> {
  if (organizationDefaults === false) return hotWords;
  const stored = await vocabularies.of(identity.organizationId);
  return withStoredHotWords(hotWords, stored.hotWords, model.alphabet);
}

/**
 * Rejects a caller without credits before the upload is read. A repeated submission passes: it returns its job.
 * @throws {ServiceError} `OUT_OF_CREDITS`, `KEY_BUDGET_EXCEEDED`, `AUTH_UNAVAILABLE`
 */
async function requireCreditForJob(
  { conversations, jobs }: JobDeps,
  caller: Caller,
  key: string | null,
): Promise<void> {
  try {
    await conversations.requireCredit(caller, "file");
  } catch (thrown) {
    const isRefused = thrown instanceof ServiceError && isUnpaid(thrown.code);
    if (!isRefused || key === null) throw thrown;
    if (!(await jobs.isKnown(caller.identity.organizationId, key))) throw thrown;
  }
}

async function submitUpload(given: {
  readonly exchange: Exchange;
  readonly deps: JobDeps;
  readonly caller: Caller;
  readonly upload: Upload;
  readonly job: (sha256: string) => NewJob;
}): Promise<void> {
  const { exchange, deps, upload, job } = given;
  const hash = createHash("sha256");
  const options = {
    spoolDir: deps.spoolDir,
    room: deps.room ?? ENDLESS_ROOM,
    name: exchange.requestId,
    extension: safeExtension(upload.fileName),
    maxBytes: LONGEST_UPLOAD_BYTES,
    hash,
  };
  await withUpload(upload.bytes, options, async (path) => {
    const { size } = await stat(path);
    // Check the room for the file, because the database may be on the same disk.
    await options.room.check(size);
    const audio = { bytes: size, parts: partsOf(path) };
    await accept(exchange, await deps.jobs.submit(job(hash.digest("hex")), audio));
  });
}

/** Opens the file on the first read. A replayed submission reads nothing, and its file is already deleted. */
async function* partsOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield* createReadStream(path, { highWaterMark: READ_BYTES }) as AsyncIterable<Uint8Array>;
}

async function accept(exchange: Exchange, submitted: Submitted): Promise<void> {
  if (submitted.type === "submitted" || submitted.type === "replayed") {
    const { job } = submitted;
    if (submitted.type === "replayed") exchange.addHeaders({ "idempotent-replayed": "true" });
    return exchange.json(202, jobBody(job), { ...NO_STORE, location: `/v1/jobs/${job.id}` });
  }
  switch (submitted.type) {
    case "in-use":
      throw new ServiceError(
        "IDEMPOTENCY_KEY_IN_USE",
        "a request with this Idempotency-Key is still running; try again when it has ended",
      );
    case "reused":
      throw new ServiceError(
        "IDEMPOTENCY_KEY_REUSED",
        "this Idempotency-Key belongs to another job; send that one again, or use a new key",
      );
    case "too-many-jobs":
      throw new ServiceError(
        "TOO_MANY_REQUESTS",
        `an organization may have at most ${submitted.most} jobs waiting; wait until one has ended`,
      );
    case "storage-full":
      throw new ServiceError(
        "STORAGE_FULL",
        "no space is left in the budget for the audio of jobs; wait until some have ended",
      );
  }
}

async function sendResult(exchange: Exchange, deps: JobDeps, params: PathParams): Promise<void> {
  const { job, organizationId } = await ownJob(exchange, deps, params);
  const { format } = readQuery(JOB_RESULT_QUERY, exchange.request.query);
  if (job.status !== "done") throw notDone(job);
  const text = await deps.jobs.result(organizationId, job.id);
  if (text === null) throw noSuchJob(job.id);
  const transcription = JSON.parse(text) as Transcription;
  const { contentType, body } = await rendered(transcription, format, job);
  exchange.start(200, {
    "content-type": contentType,
    "content-length": String(body.bytes),
    ...NO_STORE,
  });
  await endWithBody(exchange, body);
}

async function rendered(
  transcription: Transcription,
  format: ResultFormat,
  { options }: Job,
): Promise<{ readonly contentType: string; readonly body: LongBody }> {
  switch (format) {
    case "json": {
      const body = await jsonInTurns(requestedResult(transcription, options.timestamps));
      return { contentType: "application/json", body };
    }
    case "txt": {
      return { contentType: "text/plain; charset=utf-8", body: textBody(`${plainText(transcription)}\n`) };
    }
    case "srt":
    case "vtt":
      return subtitleBody(transcription, format);
  }
}

/** Returns the text, with a line for each turn if its speakers are known. */
function plainText({ text, display_text = text, speakers, segments = [] }: Transcription): string {
  return speakers === undefined ? display_text : speakerLines(segments).join("\n");
}

async function sendSecret(
  exchange: Exchange,
  deps: JobDeps,
  secretOf: (organizationId: string) => ReturnType<Jobs["webhookSecret"]>,
): Promise<void> {
  const { identity } = await admit(exchange, deps, null);
  readQuery(NO_QUERY, exchange.request.query);
  const { secret, createdAt }: WebhookSecret = await secretOf(identity.organizationId);
  const body: WebhookSecretBody = { secret, created_at: createdAt.toISOString() };
  await exchange.json(200, body, NO_STORE);
}

async function ownJob(
  exchange: Exchange,
  deps: JobDeps,
  { id = "" }: PathParams,
): Promise<{ readonly job: Job; readonly organizationId: string }> {
  const { identity } = await admit(exchange, deps, null);
  const { organizationId } = identity;
  const job = await deps.jobs.find(organizationId, id);
  if (job === null) throw noSuchJob(id);
  return { job, organizationId };
}

/** The same error for IDs of other organizations, so that they are not revealed. */
function noSuchJob(id: string): ServiceError {
  return new ServiceError("NOT_FOUND", `no such job: ${JSON.stringify(id.slice(0, 60))}`);
}

function notDone({ status, error }: Job): ServiceError {
  const why = error === null ? "" : ` (${error.code}: ${error.detail})`;
  const next = status === "queued" || status === "running" ? "; try again when it is done" : "";
  return new ServiceError("JOB_NOT_DONE", `the job has no result: its status is ${status}${why}${next}`);
}

/** Returns a job's file name for display in lists and in the console. */
function shownFileName(name: string | undefined): string | null {
  // PostgreSQL and terminals must not get control characters.
  const shown = decodedName(name ?? "")
    .replace(/\p{Cc}/gu, "")
    .toWellFormed();
  return shown === "" ? null : shown.slice(0, LONGEST_FILE_NAME);
}

/** Decodes a file name: headers must be ASCII, so clients percent-encode other letters. */
function decodedName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
