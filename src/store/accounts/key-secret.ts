import { createHmac, hkdfSync, randomBytes } from "node:crypto";

const KEY_PREFIX = "sk-svc-";
const KEY_BYTES = 24;
const KEY_PATTERN = /^sk-svc-[0-9a-f]{48}$/;
/** How much of a key's front is kept for display: the fixed prefix and four digits. */
const DISPLAY_PREFIX_LENGTH = KEY_PREFIX.length + 4;

/** What is kept of a key: nothing that leads back to it. */
export interface KeyTraces {
  /** HMAC-SHA-256 of the key under the server's pepper, 32 bytes. */
  readonly hash: Buffer;
  readonly prefix: string;
  readonly lastFour: string;
}

/** A new raw key, 192 random bits. */
export function newRawKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString("hex");
}

/** The `nth` raw key that services with this pepper have in common, made of it alone. */
export function sharedRawKey(pepper: string, nth: number): string {
  const secret = secretOf(pepper, `development key ${nth}`);
  return KEY_PREFIX + secret.subarray(0, KEY_BYTES).toString("hex");
}

export function isWellFormedKey(rawKey: string): boolean {
  return KEY_PATTERN.test(rawKey);
}

export function hashKey(rawKey: string, pepper: string): Buffer {
  return createHmac("sha256", pepper).update(rawKey).digest();
}

/** A secret for one purpose, 32 bytes, that nothing of the pepper or of another purpose's secret can be learned from. */
export function secretOf(pepper: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", pepper, "", `dauys ${purpose}`, 32));
}

export function tracesOf(rawKey: string, pepper: string): KeyTraces {
  return {
    hash: hashKey(rawKey, pepper),
    prefix: rawKey.slice(0, DISPLAY_PREFIX_LENGTH),
    lastFour: rawKey.slice(-4),
  };
}
