import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AddError, PassingError } from "./add-error.js";
import type { Answer, HubClient } from "./client.js";
import { requireFreeSpace } from "./free-space.js";
import { PartFile } from "./part-file.js";
import { refusalOf } from "./refusals.js";

/** One file that is wanted. */
export interface DownloadJob {
  readonly url: string;
  /** As messages name it. */
  readonly name: string;
  /** Where it goes; until it is whole and right, its bytes are in `path` with `.part` behind. */
  readonly path: string;
  readonly bytes: number | null;
  /** Null takes what comes. */
  readonly sha256: string | null;
  /** The page where terms are accepted; null where there is none. */
  readonly termsUrl: string | null;
}

export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
  /** The commit of the repository, as the hub tells it. */
  readonly commit: string | null;
}

/** When tries that brought nothing are given up, and how long the first pause is; later ones are twice as long each. */
export interface RetryRule {
  readonly tries: number;
  readonly firstPauseMs: number;
}

export interface DownloadOptions {
  readonly client: HubClient;
  readonly signal: AbortSignal;
  readonly retry: RetryRule;
  /** Bytes that are here, and how many there will be; null while that is not known. */
  readonly onBytes: (bytes: number, total: number | null) => void;
  /** What went wrong and is tried again. */
  readonly onRetry: (message: string) => void;
}

const LONGEST_PAUSE_MS = 60_000;
/** A server that wants more patience than this is not waited for. */
const LONGEST_WAIT_MS = 15 * 60_000;
const HASH = /^"?([0-9a-f]{64})"?$/;

/**
 * Downloads a file, hashing it as it comes. What an earlier run left is gone on with.
 *
 * @throws {AddError} when it cannot be had, or is another file than it should be; a wrong one is removed
 */
export async function download(job: DownloadJob, options: DownloadOptions): Promise<Downloaded> {
  const part = await PartFile.open(`${job.path}.part`);
  try {
    options.onBytes(part.bytes, job.bytes);
    let { commit, sha256 } = await fetchAll(job, part, options);
    if (sha256 !== null && part.sha256 !== sha256 && part.isResumed) {
      // The beginning is of another run: a disk that lost power may have kept something else.
      options.onRetry(`${job.name}: what an earlier run left is damaged, beginning again`);
      await part.restart(null);
      ({ commit, sha256 } = await fetchAll(job, part, options));
    }
    const found = part.sha256;
    if (sha256 !== null && found !== sha256) {
      await part.remove();
      const what = `its sha256 must be ${sha256}, found ${found}`;
      throw new AddError(`${job.name} is another file than it should be, and was removed: ${what}`);
    }
    const { bytes } = part;
    await part.finish(job.path);
    return { bytes, sha256: found, commit };
  } finally {
    await part.close();
  }
}

/** What the server has told of a file. */
interface Told {
  readonly commit: string | null;
  /** That of the job, else the server's. */
  readonly sha256: string | null;
}

/** Tries until all bytes are here. */
async function fetchAll(job: DownloadJob, part: PartFile, options: DownloadOptions): Promise<Told> {
  const { retry, signal, onRetry } = options;
  for (let failures = 0; ; ) {
    const before = part.bytes;
    try {
      return await fetchRest(job, part, options);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof PassingError)) throw error;
      failures = part.bytes > before ? 1 : failures + 1;
      if (failures >= retry.tries) {
        const kept = part.bytes > 0 ? "; what has arrived is kept, the same command goes on from there" : "";
        throw new AddError(`Cannot download ${job.name}: ${error.message}${kept}`, { cause: error });
      }
      const pauseMs = error.afterMs ?? pauseBefore(failures, retry);
      onRetry(`${job.name}: ${error.message}; trying again in ${Math.ceil(pauseMs / 1_000)} s`);
      await sleep(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** Twice as long each time, and of a random length, so that many who were cut off do not come back together. */
function pauseBefore(failures: number, { firstPauseMs }: RetryRule): number {
  const longest = Math.min(LONGEST_PAUSE_MS, firstPauseMs * 2 ** (failures - 1));
  return longest * (0.5 + Math.random() / 2);
}

async function fetchRest(job: DownloadJob, part: PartFile, options: DownloadOptions): Promise<Told> {
  if (job.bytes !== null && part.bytes > job.bytes) await part.restart(null);
  // A file of no known hash goes on only if the server can say that it is still the same.
  if (job.sha256 === null && part.version === null && part.bytes > 0) await part.restart(null);
  if (job.sha256 !== null && part.bytes === job.bytes) return { commit: null, sha256: job.sha256 };
  const range: Record<string, string> = part.bytes > 0 ? { range: `bytes=${part.bytes}-` } : {};
  if (part.bytes > 0 && part.version !== null) range["if-range"] = part.version;
  const answer = await options.client.open(job.url, range, options.signal);
  try {
    const total = await beginBody(job, part, answer);
    const told = toldBy(job, answer);
    const longest = total ?? job.bytes ?? Number.POSITIVE_INFINITY;
    for await (const chunk of answer.body) {
      await part.append(chunk);
      if (part.bytes > longest) throw tooLong(job, longest);
      options.onBytes(part.bytes, total);
    }
    if (total !== null && part.bytes < total)
      throw new PassingError(`the connection ended after ${part.bytes} of ${total} bytes`);
    return told;
  } finally {
    answer.drop();
  }
}

/**
 * Looks at the answer's status and headers, and has `part` begin where the answer does.
 * @returns bytes of the whole file; null where the server does not say
 */
async function beginBody(job: DownloadJob, part: PartFile, answer: Answer): Promise<number | null> {
  const { status, headers } = answer;
  if (status === 416) {
    await part.restart(null);
    throw new PassingError("the server has fewer bytes than are here");
  }
  if (status !== 200 && status !== 206) throw refusalOf(job, answer, LONGEST_WAIT_MS);
  const total = status === 206 ? rangeTotal(part.bytes, headers) : lengthOf(headers);
  if (total === "another range") {
    await part.restart(null);
    throw new PassingError(
      `the server sends another range: ${headers["content-range"] ?? "without saying which"}`,
    );
  }
  if (total !== null && job.bytes !== null && total !== job.bytes) throw tooLong(job, job.bytes, total);
  // A strong ETag only: with a weak one, bytes may differ.
  const version = /^"/.test(headers["etag"] ?? "") ? headers["etag"]! : null;
  if (status === 200) await part.restart(version);
  else if (part.bytes === 0 && version !== null) await part.setVersion(version);
  if (total !== null) await requireFreeSpace(dirname(job.path), total - part.bytes);
  return total;
}

/** Of a 206: it must go on where the bytes that are here end. */
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

/** @throws {AddError} when the hub tells another hash than the catalogue, before the file is downloaded */
function toldBy(job: DownloadJob, { firstHeaders }: Answer): Told {
  const commit = firstHeaders["x-repo-commit"] ?? null;
  // Of a large file this is its sha256.
  const linked = HASH.exec(firstHeaders["x-linked-etag"] ?? "")?.[1] ?? null;
  if (job.sha256 !== null && linked !== null && linked !== job.sha256) {
    const what = `its sha256 must be ${job.sha256}, the server tells ${linked}`;
    throw new AddError(`${job.name} is another file than it should be: ${what}`);
  }
  return { commit, sha256: job.sha256 ?? linked };
}

function tooLong(job: DownloadJob, expected: number, found?: number): AddError {
  const has = found === undefined ? "sends more" : `has ${found}`;
  return new AddError(
    `${job.name} is another file than it should be: it must be ${expected} bytes long, the server ${has}`,
  );
}
