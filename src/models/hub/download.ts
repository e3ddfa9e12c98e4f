import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AddError, TransientError } from "./add-error.js";
import type { Answer, HubClient } from "./client.js";
import { requireFreeSpace } from "./free-space.js";
import { PartFile } from "./part-file.js";
import { rejectionOf } from "./rejections.js";

export interface DownloadJob {
  readonly url: string;
  /** Name for messages. */
  readonly name: string;
  /** Destination. Until the file is verified, its bytes are in `path` with the suffix `.part`. */
  readonly path: string;
  readonly bytes: number | null;
  /** Expected hash; null accepts any. */
  readonly sha256: string | null;
  /** Page on which users accept the terms, or null. */
  readonly termsUrl: string | null;
}

export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
  /** Commit of the repository, as reported by the hub. */
  readonly commit: string | null;
}

/** Number of attempts without progress before giving up, and the first pause, which doubles each time. */
export interface RetryRule {
  readonly tries: number;
  readonly firstPauseMs: number;
}

export interface DownloadOptions {
  readonly client: HubClient;
  readonly signal: AbortSignal;
  readonly retry: RetryRule;
  /** Receives the number of bytes so far, and in total (null if unknown). */
  readonly onBytes: (bytes: number, total: number | null) => void;
  /** Receives the reason for a retry. */
  readonly onRetry: (message: string) => void;
}

const LONGEST_PAUSE_MS = 60_000;
/** If the server requests a longer pause, the download fails. */
const LONGEST_WAIT_MS = 15 * 60_000;
const HASH = /^"?([0-9a-f]{64})"?$/;

/**
 * Downloads a file and hashes it as it arrives. Resumes an unfinished download.
 *
 * @throws {AddError} if the file is unavailable, or is the wrong one, which is then deleted
 */
export async function download(job: DownloadJob, options: DownloadOptions): Promise<Downloaded> {
  const part = await PartFile.open(`${job.path}.part`);
  try {
    options.onBytes(part.bytes, job.bytes);
    let { commit, sha256 } = await fetchAll(job, part, options);
    if (sha256 !== null && part.sha256 !== sha256 && part.isResumed) {
      // The bytes come from an earlier run, and a power failure may have damaged them.
      options.onRetry(`${job.name}: the unfinished download is damaged, starting over`);
      await part.restart(null);
      ({ commit, sha256 } = await fetchAll(job, part, options));
    }
    const found = part.sha256;
    if (sha256 !== null && found !== sha256) {
      await part.remove();
      const what = `its sha256 must be ${sha256}, found ${found}`;
      throw new AddError(`${job.name} is the wrong file, and was deleted: ${what}`);
    }
    const { bytes } = part;
    await part.finish(job.path);
    return { bytes, sha256: found, commit };
  } finally {
    await part.close();
  }
}

/** A file as the server describes it. */
interface FileFacts {
  readonly commit: string | null;
  /** The job's hash, otherwise the server's. */
  readonly sha256: string | null;
}

/** Retries until all bytes have arrived. */
async function fetchAll(job: DownloadJob, part: PartFile, options: DownloadOptions): Promise<FileFacts> {
  const { retry, signal, onRetry } = options;
  for (let failures = 0; ; ) {
    const before = part.bytes;
    try {
      return await fetchRest(job, part, options);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientError)) throw error;
      failures = part.bytes > before ? 1 : failures + 1;
      if (failures >= retry.tries) {
        const kept =
          part.bytes > 0 ? "; the downloaded part is kept, and the same command resumes the download" : "";
        throw new AddError(`Cannot download ${job.name}: ${error.message}${kept}`, { cause: error });
      }
      const pauseMs = error.afterMs ?? pauseBefore(failures, retry);
      onRetry(`${job.name}: ${error.message}; trying again in ${Math.ceil(pauseMs / 1_000)} s`);
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Exponential backoff with jitter, so that many interrupted clients do not return at the same time. */
function pauseBefore(failures: number, { firstPauseMs }: RetryRule): number {
  const longest = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** (failures - 1));
  return longest * (0.5 + Math.random() / 2);
}

async function fetchRest(job: DownloadJob, part: PartFile, options: DownloadOptions): Promise<FileFacts> {
  if (job.bytes !== null && part.bytes > job.bytes) await part.restart(null);
  // Without a known hash, resume only if the server can confirm that the file is unchanged.
  if (job.sha256 === null && part.version === null && part.bytes > 0) await part.restart(null);
  if (job.sha256 !== null && part.bytes === job.bytes) return { commit: null, sha256: job.sha256 };
  const range: Record<string, string> = part.bytes > 0 ? { range: `bytes=${part.bytes}-` } : {};
  if (part.bytes > 0 && part.version !== null) range["if-range"] = part.version;
  const answer = await options.client.open(job.url, range, options.signal);
  try {
    const total = await startBody(job, part, answer);
    const facts = factsOf(job, answer);
    const longest = total ?? job.bytes ?? Number.POSITIVE_INFINITY;
    for await (const chunk of answer.body) {
      await part.append(chunk);
      if (part.bytes > longest) throw tooLong(job, longest);
      options.onBytes(part.bytes, total);
    }
    if (total !== null && part.bytes < total)
      throw new TransientError(`the connection ended after ${part.bytes} of ${total} bytes`);
    return facts;
  } finally {
    answer.drop();
  }
}

/**
 * Checks the response's status and headers, and sets `part` to the position where the response starts.
 * @returns size of the whole file in bytes; null if unknown
 */
async function startBody(job: DownloadJob, part: PartFile, answer: Answer): Promise<number | null> {
  const { status, headers } = answer;
  if (status === 416) {
    await part.restart(null);
    throw new TransientError("the file on the server is shorter than the part already downloaded");
  }
  if (status !== 200 && status !== 206) throw rejectionOf(job, answer, LONGEST_WAIT_MS);
  const total = status === 206 ? rangeTotal(part.bytes, headers) : lengthOf(headers);
  if (total === "another range") {
    await part.restart(null);
    throw new TransientError(
      `the server sent a different range: ${headers["content-range"] ?? "without Content-Range"}`,
    );
  }
  if (total !== null && job.bytes !== null && total !== job.bytes) throw tooLong(job, job.bytes, total);
  // Use only a strong ETag: files with the same weak one may differ in their bytes.
  const version = /^"/.test(headers["etag"] ?? "") ? headers["etag"]! : null;
  if (status === 200) await part.restart(version);
  else if (part.bytes === 0 && version !== null) await part.setVersion(version);
  if (total !== null) await requireFreeSpace(dirname(job.path), total - part.bytes);
  return total;
}

/** Returns the total size from a 206 response, which must continue where the received bytes end. */
function rangeTotal(from: number, headers: Answer["headers"]): number | null | "another range" {
  const found = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers["content-range"] ?? "");
  if (found === null || Number(found[1]) !== from) return "another range";
  const [last, total] = [Number(found[2]), found[3] === "*" ? null : Number(found[3])];
  return total !== null && last !== total - 1 ? "another range" : total;
}

function lengthOf(headers: Answer["headers"]): number | null {
  const length = headers["content-length"];
  return length === undefined ? null : Number(length);
}

/** @throws {AddError} if the hub reports a different hash from the catalogue's */
function factsOf(job: DownloadJob, { firstHeaders }: Answer): FileFacts {
  const commit = firstHeaders["x-repo-commit"] ?? null;
  // For a large file, this is its SHA-256.
  const linked = HASH.exec(firstHeaders["x-linked-etag"] ?? "")?.[1] ?? null;
  if (job.sha256 !== null && linked !== null && linked !== job.sha256) {
    const what = `its sha256 must be ${job.sha256}, the server reports ${linked}`;
    throw new AddError(`${job.name} is the wrong file: ${what}`);
  }
  return { commit, sha256: job.sha256 ?? linked };
}

function tooLong(job: DownloadJob, expected: number, found?: number): AddError {
  const has = found === undefined ? "sends more" : `has ${found}`;
  return new AddError(`${job.name} is the wrong file: it must be ${expected} bytes long, the server ${has}`);
}
