import { decode, encode } from "@msgpack/msgpack";
import { connect, type Msg, type NatsConnection } from "@nats-io/transport-node";
import { uniform } from "./seed.js";

/** Returns damaged bytes of a message. */
type Damage = (bytes: Uint8Array, random: () => number) => Uint8Array;

/** The size of the checksum at the end of each message, after the MessagePack data. */
const CHECKSUM_BYTES = 4;
/** Just below the 1 MB that a server accepts. */
const HUGE_BYTES = 1_000_000;
/** The number of huge messages for each kind of subject. More would only measure the network. */
const MOST_HUGE = 3;
const OTHER_TYPES: readonly unknown[] = [null, 7, "text", [], {}, true, { type: 7, n: "1", nth: null }];

const DAMAGES: readonly Damage[] = [
  (bytes, random) => bytes.slice(0, below(bytes.length, random)),
  (bytes, random) => flipped(bytes, 1, random),
  (bytes, random) => flipped(bytes, 8, random),
  (_, random) => encode(OTHER_TYPES[below(OTHER_TYPES.length, random)]),
  (bytes) => valuesOfOtherTypes(bytes),
  () => new Uint8Array(),
  (bytes, random) => noise(bytes.length + 1, random),
  (bytes) => Uint8Array.from([...bytes, ...bytes]),
  // Arrays of 30 million elements are nested in one another. A decoder that trusts the lengths runs out of
  // memory.
  (bytes) => Uint8Array.from({ length: bytes.length + 5 }, (_, at) => [0xdd, 1, 0xc9, 0xc3, 0x80][at % 5]!),
];
const HUGE: readonly Damage[] = [
  (_, random) => noise(HUGE_BYTES, random),
  (bytes) => {
    const huge = new Uint8Array(HUGE_BYTES);
    huge.set(bytes.subarray(0, HUGE_BYTES));
    return huge;
  },
];

/**
 * Subscribes to every message on the bus, and publishes damaged copies of it on its subject and its reply
 * subject. Each kind of subject gets every kind of damage in turn.
 */
export class BusFuzzer {
  readonly #connection: NatsConnection;
  readonly #random: () => number;
  /**
   * The number of damaged messages by kind of subject. A kind is the subject's words, with `*` for names and
   * numbers.
   */
  readonly counts = new Map<string, number>();
  #isStopped = false;

  private constructor(connection: NatsConnection, seed: number) {
    this.#connection = connection;
    this.#random = uniform(seed);
    connection.subscribe("dauys.>", { callback: (_, message) => this.#spoil(message) });
  }

  static async start(server: string, seed: number): Promise<BusFuzzer> {
    const connection = await connect({ servers: [server], name: "fuzzer", noEcho: true });
    const fuzzer = new BusFuzzer(connection, seed);
    await connection.flush();
    return fuzzer;
  }

  /** Resolves once the server has received all damaged messages. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#connection.drain();
  }

  #spoil({ subject, reply, data }: Msg): void {
    if (this.#isStopped) return;
    // The data is copied, because the client reuses its memory.
    const bytes = new Uint8Array(data);
    this.#publish(subject, bytes);
    if (reply !== undefined && reply !== "") this.#publish(reply, bytes);
  }

  #publish(subject: string, bytes: Uint8Array): void {
    const kind = kindOf(subject);
    const count = this.counts.get(kind) ?? 0;
    this.counts.set(kind, count + 1);
    const isHuge = count % DAMAGES.length === 0 && count / DAMAGES.length < MOST_HUGE;
    const damages = isHuge ? HUGE : DAMAGES;
    this.#connection.publish(subject, damages[count % damages.length]!(bytes, this.#random));
  }
}

/** Returns a subject with `*` for each word that identifies a process, a lane or a call. */
function kindOf(subject: string): string {
  const words = new Set(
    "dauys v1 beat engine front live synthesis transcription call lost unheard".split(" "),
  );
  return subject
    .split(".")
    .map((word) => (words.has(word) ? word : "*"))
    .join(".");
}

function below(count: number, random: () => number): number {
  return Math.floor(random() * count);
}

function noise(length: number, random: () => number): Uint8Array {
  return Uint8Array.from({ length }, () => below(256, random));
}

function flipped(bytes: Uint8Array, count: number, random: () => number): Uint8Array {
  const copy = bytes.slice();
  for (let nth = 0; nth < count; nth++) {
    const at = below(copy.length, random);
    copy[at] = (copy[at] ?? 0) ^ (1 << below(8, random));
  }
  return copy;
}

/** Returns the same keys with values of unexpected types, or a list if the message is not a map. */
function valuesOfOtherTypes(bytes: Uint8Array): Uint8Array {
  try {
    const known = Object.entries(decode(bytes.subarray(0, -CHECKSUM_BYTES)) as object);
    return encode(Object.fromEntries(known.map(([key, value]) => [key, otherType(value)])));
  } catch {
    return encode([...bytes.subarray(0, 16)]);
  }
}

function otherType(value: unknown): unknown {
  if (typeof value === "string") return 3;
  if (typeof value === "number") return "three";
  return typeof value === "object" ? -1 : null;
}
