/** Explains system error codes to a user who typed a path. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOENT: "no such file or folder",
  ENOTDIR: "part of the path is not a folder",
  EISDIR: "it is a folder",
  ENOSPC: "no space left on the device",
  EDQUOT: "no space left on the device",
  EFBIG: "the file is too large",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  EEXIST: "a file with that name already exists",
  ELOOP: "its symbolic links form a loop",
  ETXTBSY: "it is a running program",
  EBUSY: "it is in use",
  ENXIO: "no program is reading from it",
  EIO: "device error",
};

/** Limits the length of a chain of causes, which may be circular. */
const LONGEST_CHAIN = 16;

/** Returns whether an error, or anything that caused it, has one of these system codes. */
export function isCausedBy(error: unknown, codes: readonly string[], depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > LONGEST_CHAIN) return false;
  const { code, cause, errors } = error as {
    readonly code?: unknown;
    readonly cause?: unknown;
    readonly errors?: unknown;
  };
  if (typeof code === "string" && codes.includes(code)) return true;
  // Connecting to a host with several addresses fails with one error per address.
  const each = Array.isArray(errors) ? errors : [];
  return [cause, ...each].some((below) => isCausedBy(below, codes, depth + 1));
}

/** Returns why a file cannot be used, in our own wording instead of the system's. */
export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  const reason = code === undefined ? undefined : REASONS[code];
  return reason ?? (error instanceof Error ? error.message : String(error));
}

/** Describes a system error about a path; null for any other error. */
export function pathFailure(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (path === undefined || syscall === undefined || code === undefined) return null;
  return `cannot use ${path}: ${reasonOf(error)}`;
}
