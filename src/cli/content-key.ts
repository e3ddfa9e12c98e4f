import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

/**
 * What a recording is asked for: with other wishes it is other work. Times are always asked for, at no cost: so text,
 * subtitles and JSON of a recording are one work, and charged once.
 */
export interface Wishes {
  readonly timestamps: true;
  readonly hotWords: readonly string[];
  /** The service's default when undefined. */
  readonly model: string | undefined;
}

/** The same, with what the service adds to it. */
export interface KeyedWishes extends Wishes {
  /** The model that answers where none is named; null where one is, or where the service does not say. */
  readonly defaultModel: string | null;
}

/**
 * An idempotency key for a file: the same for the same bytes and wishes, so that work that was paid for and lost on its way
 * (a closed terminal, a full disk) is given again for nothing within 24 hours.
 *
 * @returns undefined for what can be read only once, such as a pipe, and for what cannot be read
 */
export async function contentKey(path: string, wishes: KeyedWishes): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined;
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return keyOf(hash.digest("hex"), wishes);
  } catch {
    // The command that sends it says why it cannot be read.
    return undefined;
  }
}

/** The same for bytes that are in memory. */
export function keyOfBytes(bytes: Uint8Array, wishes: KeyedWishes): string {
  return keyOf(createHash("sha256").update(bytes).digest("hex"), wishes);
}

/** A key that no other work has. */
export function freshKey(): string {
  return `dauys-cli-${randomBytes(32).toString("hex")}`;
}

function keyOf(sha256: string, { hotWords, model, defaultModel }: KeyedWishes): string {
  const asked = JSON.stringify([sha256, hotWords, model ?? null, defaultModel]);
  return `dauys-cli-${createHash("sha256").update(asked).digest("hex")}`;
}
