import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { ConsoleError } from "./console-error.js";

/** Parameters of scrypt: it takes 128·N·r bytes, and time proportional to N·r·p. */
export interface PasswordCost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** Takes 32 MiB and a third of a second of one core per password; one of OWASP's settings for scrypt. */
export const PASSWORD_COST: PasswordCost = { N: 2 ** 15, r: 8, p: 3 };
const MAX_MEMORY_BYTES = 64 * 2 ** 20;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Most concurrent hashes. More would take memory, and threads that file access needs. */
const MOST_RUNNING = 2;
/** Most waiting hashes; further ones are rejected. */
const MOST_WAITING = 50;

let running = 0;
const waiting: (() => void)[] = [];

/** Hashes a password for storage, including the cost parameters. @throws {ConsoleError} `busy` */
export async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return keptText(cost, salt, await derive(password, salt, cost));
}

/**
 * Checks a password against a stored hash. For an unknown user (null), it takes as long as for a wrong
 * password.
 *
 * @param cost cost of new hashes
 * @throws {ConsoleError} `busy`
 */
export async function isPassword(
  password: string,
  kept: string | null,
  cost: PasswordCost,
): Promise<boolean> {
  const [, N, r, p, salt, hash] = (kept ?? keptText(cost, NO_SALT, NO_HASH)).split("$");
  if (salt === undefined || hash === undefined) throw new Error("the stored password hash is damaged");
  const options = { N: Number(N), r: Number(r), p: Number(p) };
  const derived = await derive(password, Buffer.from(salt, "base64"), options);
  return timingSafeEqual(derived, Buffer.from(hash, "base64")) && kept !== null;
}

/** Stands in for the salt of an unknown user. */
const NO_SALT = Buffer.alloc(SALT_BYTES);
const NO_HASH = Buffer.alloc(HASH_BYTES);

function keptText({ N, r, p }: PasswordCost, salt: Buffer, hash: Buffer): string {
  return ["scrypt", N, r, p, salt.toString("base64"), hash.toString("base64")].join("$");
}

async function derive(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  await takeTurn();
  try {
    return await new Promise((resolve, reject) => {
      // Different encodings of the same letters count as the same password.
      const normalized = password.normalize("NFKC");
      scrypt(normalized, salt, HASH_BYTES, { ...options, maxmem: MAX_MEMORY_BYTES }, (error, key) =>
        error === null ? resolve(key) : reject(error),
      );
    });
  } finally {
    // Hand the slot directly to the next in line, so that no new request overtakes it.
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }
}

async function takeTurn(): Promise<void> {
  if (running < MOST_RUNNING) {
    running++;
    return;
  }
  if (waiting.length >= MOST_WAITING)
    throw new ConsoleError("busy", "too many sign-ins at the same time; try again in 5 s", 5);
  await new Promise<void>((resolve) => waiting.push(resolve));
}
