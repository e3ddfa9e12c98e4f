import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";

const OWN = "/proc/self/fd";
/** Descriptors reserved for files, pipes and the database: a quarter of the limit, within these bounds. */
const LEAST_RESERVE = 64;
const LARGEST_RESERVE = 1_024;
const LEAST_CONNECTIONS = 16;

/** Counts the open descriptors of this process; null if the system does not report it. */
export function openDescriptors(): number | null {
  try {
    // On Linux 6.2 and later, the size is the count.
    return statSync(OWN).size || readdirSync(OWN).length;
  } catch {
    return null;
  }
}

/**
 * Counts descriptors on another thread: on older kernels, reading 10,000 names blocks for 8 ms or more.
 * @param folder the folder to count in; tests replace it
 * @returns infinity if no descriptor is left for counting; null if the system does not report descriptors
 */
export async function countDescriptors(folder = OWN): Promise<number | null> {
  try {
    return statSync(folder).size || (await readdir(folder)).length;
  } catch (error) {
    // Reading the folder itself needs a descriptor.
    const code = (error as NodeJS.ErrnoException).code ?? "";
    return ["EMFILE", "ENFILE"].includes(code) ? Number.POSITIVE_INFINITY : null;
  }
}

/** Returns the limit of open descriptors; null if the system does not report it. */
export function descriptorLimit(): number | null {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}

/** Returns how many connections fit if other uses occupy `open` of `limit` descriptors. */
export function connectionsWithin(limit: number, open: number): number {
  const reserve = Math.min(LARGEST_RESERVE, Math.max(LEAST_RESERVE, Math.floor(limit / 4)));
  return Math.max(LEAST_CONNECTIONS, limit - reserve - open);
}

/** Holds spare descriptors, which are released when no others are left. */
export class SpareDescriptors {
  readonly #count: number;
  readonly #held: number[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  get heldCount(): number {
    return this.#held.length;
  }

  hold(): void {
    try {
      while (this.#held.length < this.#count) this.#held.push(openSync("/dev/null", "r"));
    } catch {
      // No more descriptors are available: keep those that were opened.
    }
  }

  release(): void {
    for (const descriptor of this.#held.splice(0)) closeSync(descriptor);
  }
}
