import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import { freePort } from "../../bench/support/free-port.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { eventually } from "../support/eventually.js";
import * as fc from "../support/properties.js";
import { SEED, uniform } from "../support/seed.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SPEECH = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.5),
  speech("asterisk-ru-additional/an-error-has-occured.flac"),
  silence(0.4),
);
const BYTES = new Uint8Array(SPEECH.buffer, SPEECH.byteOffset, SPEECH.byteLength);

let service: ServiceProcess;
let operatorPort: number;
let expected: readonly string[];

before(async () => {
  operatorPort = await freePort();
  service = await startServiceProcess({
    MODEL_PRELOAD: "true",
    LIVE_PER_ORG: "100",
    OPERATOR_PORT: String(operatorPort),
  });
  expected = finalsOf((await converse([BYTES])).messages);
  assert.ok(expected.length >= 2, `${expected.length} finals`);
});

after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

interface Heard {
  readonly messages: readonly StreamServerMessage[];
  readonly closeCode: number;
}

/** An open session that records its messages. */
class Client {
  readonly socket: WebSocket;
  readonly messages: StreamServerMessage[] = [];
  readonly closed: Promise<number>;

  constructor() {
    this.socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    this.socket.on("message", (data) => this.messages.push(JSON.parse(String(data)) as StreamServerMessage));
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.once("close", resolve));
  }

  async heard(type: StreamServerMessage["type"]): Promise<void> {
    while (!this.messages.some((message) => message.type === type)) await once(this.socket, "message");
  }
}

/** Sends the pieces unpaced, then `close`, and collects all responses. */
async function converse(pieces: readonly (Uint8Array | string)[]): Promise<Heard> {
  const client = new Client();
  await client.heard("ready");
  for (const piece of pieces) client.socket.send(piece);
  client.socket.send('{"type":"close"}');
  return { closeCode: await client.closed, messages: client.messages };
}

/** The text of each utterance, with its number and times. */
function finalsOf(messages: readonly StreamServerMessage[]): string[] {
  return messages.flatMap((message) =>
    message.type === "final" ? [`${message.utterance} ${message.start} ${message.end} ${message.text}`] : [],
  );
}

function cutBytes(sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let offset = 0; offset < BYTES.length; offset += pieces.at(-1)!.length) {
    pieces.push(BYTES.subarray(offset, offset + sizes[pieces.length % sizes.length]!));
  }
  return pieces;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  assert.ok(line !== undefined, `${name} is among the metrics`);
  return Number(line.split(" ")[1]);
}

test("finals do not depend on how the audio's bytes are split into messages", async () => {
  const size = fc.oneof(
    fc.integer({ min: 1, max: 5_000 }),
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 65_000, max: 200_000 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 30 }), async (sizes) => {
      const { messages, closeCode } = await converse(cutBytes(sizes));
      assert.equal(closeCode, 1000);
      assert.deepEqual(finalsOf(messages), expected);
    }),
    { numRuns: 5, endOnFailure: true, examples: [[[1, 1, 1, 1, 999]], [[3_333]], [[BYTES.length]]] },
  );
});

test("empty messages, invalid JSON and unknown types change no word", async () => {
  const noise = ["no json", '{"type":"unheard_of"}', new Uint8Array(0), '{"type":"keepalive"}', "[", "7"];
  const pieces = cutBytes([9_999]).flatMap((piece, index) => [noise[index % noise.length]!, piece]);
  const { messages, closeCode } = await converse(pieces);
  assert.equal(closeCode, 1000);
  assert.deepEqual(finalsOf(messages), expected);
  assert.ok(messages.some((message) => message.type === "error" && message.code === "bad_message"));
});

test("random bytes are treated as noise, and the session ends normally", async () => {
  const random = uniform(SEED);
  const garbage = Uint8Array.from({ length: 3 * 2 * RATE_HZ + 1 }, () => random() * 256);
  const { messages, closeCode } = await converse([garbage]);
  assert.equal(closeCode, 1000);
  const done = messages.find((message) => message.type === "done");
  // The last half of a sample was never accepted.
  assert.equal(done?.type === "done" && done.audio_seconds, 3);
});

test("a flood is rejected at its limit without affecting another session", async () => {
  const fullBefore = await metric("ring_full_total");
  const flood = new Client();
  await flood.heard("ready");
  flood.socket.send(BYTES);
  await flood.heard("partial");
  const beside = converse(cutBytes([3_200]));
  const piece = new Uint8Array(1 << 17);
  for (let sent = 0; sent < 30 * 60 * 2 * RATE_HZ; sent += piece.length) flood.socket.send(piece);
  assert.equal(await flood.closed, 4400);
  const error = flood.messages.find((message) => message.type === "error");
  assert.equal(error?.type === "error" && error.code, "too_fast");
  assert.deepEqual(finalsOf((await beside).messages), expected);
  assert.ok((await metric("ring_full_total")) > fullBefore);
});

const STATES: readonly (readonly [string, (client: Client) => Promise<void>])[] = [
  ["while it opens", async () => undefined],
  ["once it is open", async ({ socket }) => void (await once(socket, "open"))],
  ["once it is ready", (client) => client.heard("ready")],
  [
    "in the middle of an utterance",
    async (client) => {
      await client.heard("ready");
      client.socket.send(BYTES.subarray(0, 2 * 2 * RATE_HZ));
      await client.heard("partial");
    },
  ],
  [
    "with a backlog",
    async (client) => {
      await client.heard("ready");
      for (let copy = 0; copy < 5; copy++) client.socket.send(BYTES);
    },
  ],
  [
    "after finalize",
    async (client) => {
      await client.heard("ready");
      client.socket.send(BYTES.subarray(0, 2 * 2 * RATE_HZ));
      client.socket.send('{"type":"finalize"}');
    },
  ],
  [
    "after close",
    async (client) => {
      await client.heard("ready");
      client.socket.send(BYTES);
      client.socket.send('{"type":"close"}');
    },
  ],
];

test("clients that vanish in any state leave nothing behind and affect no other session", async () => {
  const beside = converse(cutBytes([6_400]));
  for (const [, reach] of STATES) {
    const client = new Client();
    await reach(client);
    client.socket.terminate();
    await client.closed;
  }
  assert.deepEqual(finalsOf((await beside).messages), expected);
  await eventually("all sessions have ended", async () => (await metric("live_sessions")) === 0);
  assert.deepEqual(finalsOf((await converse([BYTES])).messages), expected);
});
