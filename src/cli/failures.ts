/** What the system's codes mean to the user who typed a path. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "it is on a read-only file system",
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of the path is no folder",
  EISDIR: "it is a folder",
  ENOSPC: "no space left on the device",
  EDQUOT: "no space left on the device",
  EFBIG: "the file is too large",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  EEXIST: "a file of that name is in the way",
  ELOOP: "its links lead in a circle",
  ETXTBSY: "it is a program that runs",
  EBUSY: "it is in use",
  ENXIO: "nobody reads it",
  EIO: "the device failed",
};

/** Deeper than any chain of causes that a program builds. */
const LONGEST_CHAIN = 16;

/** Whether the system said one of these codes, in the error itself or in what caused it. */
export function isCausedBy(error: unknown, codes: readonly string[], depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > LONGEST_CHAIN) return false;
  const { code, cause, errors } = error as {
    readonly code?: unknown;
    readonly cause?: unknown;
    readonly errors?: unknown;
  };
  if (typeof code === "string" && codes.includes(code)) return true;
  // A name with several addresses fails with one error for each.
  const each = Array.isArray(errors) ? errors : [];
  return [cause, ...each].some((below) => isCausedBy(below, codes, depth + 1));
}

/** Why a file cannot be used, without the words of the system. */
export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const reason = code === undefined ? undefined : REASONS[code];
  return reason ?? (error instanceof Error ? error.message : String(error));
}

/** A failure of the system to read or write a path, in one line; null for any other failure. */
export function pathFailure(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (path === undefined || syscall === undefined || code === undefined) return null;
  return `Cannot use ${path}: ${reasonOf(error)}`;
}
