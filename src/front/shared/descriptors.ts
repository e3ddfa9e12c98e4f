import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";

const OWN = "/proc/self/fd";
/** Kept free for files, pipes and the database: a quarter of the limit, within these. */
const LEAST_RESERVE = 64;
const LARGEST_RESERVE = 1_024;
const LEAST_CONNECTIONS = 16;

/** How many descriptors this process has open; null where the system does not say. */
export function openDescriptors(): number | null {
  try {
    // Linux 6.2 and newer count for us.
    return statSync(OWN).size || readdirSync(OWN).length;
  } catch {
    return null;
  }
}

/**
 * The same without a long turn. Where the system does not count for us, 10,000 names take 8 ms and more to be read: another
 * thread reads them.
 *
 * @param folder for tests: one of the process's own that has an entry for each
 * @returns infinity when there is none left to count with, null where the system does not say
 */
export async function countDescriptors(folder = OWN): Promise<number | null> {
  try {
    return statSync(folder).size || (await readdir(folder)).length;
  } catch (error) {
    // Reading the names takes a descriptor itself.
    const code = (error as NodeJS.ErrnoException).code ?? "";
    return ["EMFILE", "ENFILE"].includes(code) ? Number.POSITIVE_INFINITY : null;
  }
}

/** How many descriptors this process may have open at once; null where the system does not say. */
export function descriptorLimit(): number | null {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}

/** How many connections a process may take that has `open` of `limit` descriptors open without them. */
export function connectionsWithin(limit: number, open: number): number {
  const reserve = Math.min(LARGEST_RESERVE, Math.max(LEAST_RESERVE, Math.floor(limit / 4)));
  return Math.max(LEAST_CONNECTIONS, limit - reserve - open);
}

/** Descriptors that are held so that they can be let go of when there are no others. */
export class SpareDescriptors {
  readonly #count: number;
  readonly #held: number[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Takes as many as it can. */
  hold(): void {
    try {
      while (this.#held.length < this.#count) this.#held.push(openSync("/dev/null", "r"));
    } catch {
      // None are left: those that there are must do.
    }
  }

  release(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
