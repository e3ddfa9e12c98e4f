import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

/**
 * Options that change a transcript, and so belong to its idempotency key. Times are always requested, at no cost: text,
 * subtitles and JSON of a recording then share one request and one charge.
 */
export interface Wishes {
  readonly timestamps: true;
  readonly hotWords: readonly string[];
  /** The service's default when undefined. */
  readonly model: string | undefined;
}

/** The same with the service's default. */
export interface KeyedWishes extends Wishes {
  /** The model that answers requests without one; null if the request specifies one, or the service does not say. */
  readonly defaultModel: string | null;
}

/**
 * Returns an idempotency key that depends only on a file's bytes and the options. A result that was charged and lost
 * (closed terminal, full disk) is then free when it is requested again within 24 hours.
 *
 * @returns undefined for sources that can be read only once, such as pipes, and for unreadable files
 */
export async function contentKey(path: string, wishes: KeyedWishes): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined;
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    return keyOf(hash.digest("hex"), wishes);
  } catch {
    // The upload will report the reason.
    return undefined;
  }
}

/** Does the same for bytes in memory. */
export function keyOfBytes(bytes: Uint8Array, wishes: KeyedWishes): string {
  return keyOf(createHash("sha256").update(bytes).digest("hex"), wishes);
}

/** Returns a random key. */
export function freshKey(): string {
  return `dauys-cli-${randomBytes(32).toString("hex")}`;
}

function keyOf(sha256: string, { hotWords, model, defaultModel }: KeyedWishes): string {
  const asked = JSON.stringify([sha256, hotWords, model ?? null, defaultModel]);
  return `dauys-cli-${createHash("sha256").update(asked).digest("hex")}`;
}
