import { randomFillSync } from "node:crypto";
import type { Headers, UpgradeDecision } from "../../../core/ports/front.js";

/** A parsed request target; `problem` says why it is malformed, if it is. */
export interface RequestTarget {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly problem: string | null;
}

/**
 * Splits and decodes a request target such as `/v1/voices?model=x`. Of an absolute URL, keeps path and query.
 */
export function parseTarget(rawTarget: string): RequestTarget {
  const target = rawTarget.startsWith("/") ? rawTarget : rawTarget.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  try {
    const path = decodeURIComponent(rawPath || "/");
    return {
      path,
      query,
      problem: hasNul(path, query) ? "the path and the query must not contain NUL" : null,
    };
  } catch {
    // decodeURIComponent throws only if escapes are not UTF-8.
    return { path: "/", query, problem: "the path must be percent-encoded UTF-8" };
  }
}

/**
 * Reads the length of the body from the headers: null if absent, an error text if the headers are invalid.
 *
 * @param coding value of Transfer-Encoding; repeated headers are joined with commas
 */
export function parseBodyLength(
  values: readonly string[],
  coding: string | undefined,
): number | null | string {
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked") {
    return `Transfer-Encoding must be chunked, received ${JSON.stringify(coding.slice(0, 40))}`;
  }
  if (values.length === 0) return null;
  if (values.length > 1) return "send Content-Length only once";
  const value = values[0]!.trim();
  if (!/^\d{1,15}$/.test(value)) return "Content-Length must be a whole number of bytes";
  return coding === undefined ? Number(value) : "send either Content-Length or Transfer-Encoding, not both";
}

/** Neither the database nor the file system accepts NUL. */
function hasNul(path: string, query: URLSearchParams): boolean {
  if (path.includes("\0")) return true;
  for (const [name, value] of query) if (name.includes("\0") || value.includes("\0")) return true;
  return false;
}

/** The only version of WebSocket that became a standard. */
const VERSION = "13";

/** Rejects a handshake with any other WebSocket version; else returns null. @see RFC 6455, section 4.4 */
export function refusedVersion(
  version: string | undefined,
): Extract<UpgradeDecision, { type: "refuse" }> | null {
  const given = (version ?? "").trim();
  if (given === VERSION) return null;
  const shown = given === "" ? "none" : JSON.stringify(given.slice(0, 20));
  const detail = `the Sec-WebSocket-Version header must be ${VERSION}, received ${shown}`;
  const headers = {
    ...jsonHeaders(),
    "sec-websocket-version": VERSION,
    "x-svc-error": "invalid_request",
  };
  return { type: "refuse", status: 426, headers, body: JSON.stringify({ detail }) };
}

/** Returns the headers of an error that the front itself sends. */
export function jsonHeaders(): Headers {
  return {
    "content-type": "application/json",
    "x-request-id": newRequestId(),
    "access-control-allow-origin": "*",
  };
}

const ID_BYTES = 12;
/** Random bytes for many IDs: drawing 12 bytes costs about as much as drawing 3,072. */
const pool = Buffer.allocUnsafe(256 * ID_BYTES);
let usedBytes = pool.length;

/** Creates an ID that ties a response to the log lines of its request. */
export function newRequestId(): string {
  if (usedBytes === pool.length) {
    randomFillSync(pool);
    usedBytes = 0;
  }
  const id = pool.toString("hex", usedBytes, usedBytes + ID_BYTES);
  usedBytes += ID_BYTES;
  return `req_${id}`;
}
