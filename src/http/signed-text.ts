import { createHmac, timingSafeEqual } from "node:crypto";

/** Far more than any content of ours takes: what is longer is not looked at. */
const LONGEST = 1_024;

/** Two services may have looked at the shared clock some seconds apart. */
const CLOCKS_APART_MS = 10_000;

/**
 * Whether a text that was given `lifetimeMs` is good until `untilMs` still is. One that has more left than it was given is
 * not: the shared clock was set back, and the text is not to last for as long as that.
 */
export function isCurrent(untilMs: number, lifetimeMs: number, nowMs: number): boolean {
  const leftMs = untilMs - nowMs;
  return leftMs > 0 && leftMs <= lifetimeMs + CLOCKS_APART_MS;
}

/** Texts that clients carry and that only services with the same secret can make: what they say needs no look-up. */
export class SignedText {
  readonly #prefix: string;
  readonly #secret: Uint8Array;

  /** @param secret of this kind of text alone: none can then be read as another kind */
  constructor(prefix: string, secret: Uint8Array) {
    this.#prefix = prefix;
    this.#secret = secret;
  }

  /** @param content goes through JSON; everybody who holds the text can read it */
  sign(content: readonly unknown[]): string {
    const signed = this.#prefix + Buffer.from(JSON.stringify(content)).toString("base64url");
    return `${signed}.${this.#mac(signed)}`;
  }

  /** Whether a text says that it is of this kind. */
  isKind(text: string): boolean {
    return text.startsWith(this.#prefix);
  }

  /** The content, or null when the text was not made with this secret. */
  read(text: string): readonly unknown[] | null {
    if (text.length > LONGEST || !this.isKind(text)) return null;
    const end = text.lastIndexOf(".");
    if (end === -1) return null;
    const signed = text.slice(0, end);
    const [given, right] = [Buffer.from(text.slice(end + 1)), Buffer.from(this.#mac(signed))];
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    return JSON.parse(Buffer.from(signed.slice(this.#prefix.length), "base64url").toString());
  }

  #mac(signed: string): string {
    return createHmac("sha256", this.#secret).update(signed).digest("base64url");
  }
}
