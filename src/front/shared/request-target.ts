/** Where a request goes, or why that cannot be told. */
export interface RequestTarget {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly problem: string | null;
}

/** Splits and decodes a request target such as `/v1/voices?model=x`; an absolute one keeps only its path. */
export function parseTarget(rawTarget: string): RequestTarget {
  const target = rawTarget.startsWith("/") ? rawTarget : rawTarget.replace(/^https?:\/\/[^/?]*/i, "");
  const mark = target.indexOf("?");
  const rawPath = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  try {
    const path = decodeURIComponent(rawPath || "/");
    return { path, query, problem: hasNul(path, query) ? "the path and the query must not hold NUL" : null };
  } catch {
    // decodeURIComponent throws only for escapes that are not UTF-8.
    return { path: "/", query, problem: "the path must be percent-encoded UTF-8" };
  }
}

/**
 * Length of the body by its headers: null when not given, a message when they cannot be trusted.
 *
 * @param coding value of Transfer-Encoding; lists of it are joined with commas
 */
export function parseBodyLength(
  values: readonly string[],
  coding: string | undefined,
): number | null | string {
  if (coding !== undefined && coding.trim().toLowerCase() !== "chunked") {
    return `Transfer-Encoding must be chunked, received ${JSON.stringify(coding.slice(0, 40))}`;
  }
  if (values.length === 0) return null;
  if (values.length > 1) return "Content-Length must be given once";
  const value = values[0]!.trim();
  if (!/^\d{1,15}$/.test(value)) return "Content-Length must be a whole number of bytes";
  return coding === undefined ? Number(value) : "Content-Length and Transfer-Encoding exclude each other";
}

/** Neither the database nor the file system takes it, and nothing that we serve is named by it. */
function hasNul(path: string, query: URLSearchParams): boolean {
  if (path.includes("\0")) return true;
  for (const [name, value] of query) if (name.includes("\0") || value.includes("\0")) return true;
  return false;
}
