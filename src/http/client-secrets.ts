import { randomBytes } from "node:crypto";
import type { KeyIdentity } from "../../core/ports/key-store.js";
import type { RealtimeConfig } from "../../core/protocol/realtime-session.js";
import {
  isCurrent,
  knownSince,
  LONGEST_SIGNED,
  SignedText,
  type StreamTokensParts,
} from "./signed-credentials.js";

/** OpenAI's browser libraries accept only keys that start with `ek_`. */
const PREFIX = "ek_svc_";
const ID_BYTES = 16;

/** Rights that a client secret grants while it is valid. */
export interface SecretGrant {
  readonly identity: KeyIdentity;
  readonly config: RealtimeConfig;
}

type Content = readonly [untilMs: number, lifetimeMs: number, identity: KeyIdentity, config: RealtimeConfig];

/**
 * Issues client secrets: short-lived credentials that open any number of realtime sessions of one
 * organization, with a fixed configuration. They contain their signed content and are not stored.
 */
export class ClientSecrets {
  readonly #parts: StreamTokensParts;
  readonly #texts: SignedText;

  constructor(parts: StreamTokensParts) {
    this.#parts = parts;
    this.#texts = new SignedText(PREFIX, parts.secret);
  }

  /** Creates a secret; null if the configuration is too large for one. */
  issue({ identity, config }: SecretGrant, lifetimeMs: number): { value: string; untilMs: number } | null {
    const untilMs = Math.floor(this.#parts.clock.nowMs() + lifetimeMs);
    const content: Content = [untilMs, lifetimeMs, identity, config];
    const value = this.#texts.sign(content);
    return value.length > LONGEST_SIGNED ? null : { value, untilMs };
  }

  /**
   * Returns the rights that a secret grants; null if it is unknown or expired, or its key was revoked.
   * @throws {ServiceError} `AUTH_UNAVAILABLE` if the store cannot check the key
   */
  async read(secret: string): Promise<SecretGrant | null> {
    const content = this.#texts.read(secret) as Content | null;
    if (content === null) return null;
    const { clock, uses, endings } = this.#parts;
    const [untilMs, lifetimeMs, identity, config] = content;
    const nowMs = clock.nowMs();
    if (!isCurrent(untilMs, lifetimeMs, nowMs)) return null;
    const known = knownSince(identity, endings.count);
    // Record a use, because the statement that checks the key also records it. It gets a new ID, because a
    // secret may be used again.
    const use = { id: randomBytes(ID_BYTES), untilMs: nowMs, identity };
    const isValid = await uses.use(use);
    return isValid && !endings.hasEnded(known) ? { identity: known, config } : null;
  }
}

export function isClientSecret(credential: string): boolean {
  return credential.startsWith(PREFIX);
}
