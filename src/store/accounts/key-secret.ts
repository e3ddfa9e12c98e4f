import { createHmac, hkdfSync, randomBytes } from "node:crypto";

const KEY_PREFIX = "sk-svc-";
const KEY_BYTES = 24;
const KEY_PATTERN = /^sk-svc-[0-9a-f]{48}$/;
/** Length of the part of a key that is kept for display: the fixed prefix and four digits. */
const DISPLAY_PREFIX_LENGTH = KEY_PREFIX.length + 4;

/** The stored form of a key. The key cannot be derived from it. */
export interface StoredKey {
  /** HMAC-SHA-256 of the key with the server's pepper, 32 bytes. */
  readonly hash: Buffer;
  readonly prefix: string;
  readonly lastFour: string;
}

/** Generates a raw key with 192 random bits. */
export function newRawKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString("hex");
}

/** Derives the `nth` raw key, which is the same on all services with this pepper. */
export function sharedRawKey(pepper: string, nth: number): string {
  const secret = deriveSecret(pepper, `development key ${nth}`);
  return KEY_PREFIX + secret.subarray(0, KEY_BYTES).toString("hex");
}

export function isWellFormedKey(rawKey: string): boolean {
  return KEY_PATTERN.test(rawKey);
}

export function hashKey(rawKey: string, pepper: string): Buffer {
  return createHmac("sha256", pepper).update(rawKey).digest();
}

/** Derives a 32-byte secret for one purpose, which reveals nothing about the pepper or other secrets. */
export function deriveSecret(pepper: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", pepper, "", `dauys ${purpose}`, 32));
}

export function toStoredKey(rawKey: string, pepper: string): StoredKey {
  return {
    hash: hashKey(rawKey, pepper),
    prefix: rawKey.slice(0, DISPLAY_PREFIX_LENGTH),
    lastFour: rawKey.slice(-4),
  };
}
