import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { concatenatePcm } from "../../core/domain/audio/pcm.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { Front, FrontHandlers, FrontRequest, FrontResponse, Headers } from "../../core/ports/front.js";
import { base64Body, SLICE_BYTES } from "../../src/http/long-body.js";
import * as fc from "../support/properties.js";
import { encodeWavFrame } from "../support/wav-frames.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { type RunningTransport, startTransport } from "./running-transport.js";

const RATE_HZ = 24_000;
/** What the fake conversations speak for "long. short": 100 s of one value, and 10 ms of the next. */
const SENTENCES = [new Int16Array(2_400_000).fill(1), new Int16Array(240).fill(2)];
const WHOLE = Buffer.from(writeWav(concatenatePcm(SENTENCES), RATE_HZ));

/** The response to one request, and how it arrived. */
class MemoryAnswer implements FrontResponse {
  readonly #turn: () => number;
  readonly #chunks: Uint8Array[] = [];
  readonly #bytesByTurn = new Map<number, number>();
  headers: Headers = {};
  hasStarted = false;
  isOver = false;

  constructor(turn: () => number) {
    this.#turn = turn;
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get chunkCount(): number {
    return this.#chunks.length;
  }

  get mostBytesInOneTurn(): number {
    return Math.max(...this.#bytesByTurn.values());
  }

  start(_status: number, headers: Headers): void {
    this.headers = headers;
    this.hasStarted = true;
  }

  /** Accepts everything immediately, as a reader on the same machine may. */
  async write(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(chunk.slice());
    this.#bytesByTurn.set(this.#turn(), (this.#bytesByTurn.get(this.#turn()) ?? 0) + chunk.length);
  }

  async end(chunk?: Uint8Array): Promise<void> {
    if (chunk !== undefined) await this.write(chunk);
    this.isOver = true;
  }

  reset(): void {
    this.isOver = true;
  }
}

/** A front without sockets; the test makes the requests. */
class MemoryFront implements Front {
  readonly kind = "node";
  readonly handlers: FrontHandlers;

  constructor(handlers: FrontHandlers) {
    this.handlers = handlers;
  }

  async listen(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}

  async speak(target: string, body: object): Promise<MemoryAnswer> {
    let turn = 0;
    const count = () => {
      turn++;
      if (!answer.isOver) setImmediate(count);
    };
    const answer = new MemoryAnswer(() => turn);
    setImmediate(count);
    await this.handlers.request(requestFor(target, body), answer);
    return answer;
  }
}

function requestFor(target: string, body: object): FrontRequest {
  const [path = "", query] = target.split("?");
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = new Map([
    ["authorization", `Bearer ${GOOD_KEY}`],
    ["content-type", "application/json"],
  ]);
  return {
    method: "POST",
    path,
    query: new URLSearchParams(query),
    remoteAddress: "127.0.0.1",
    contentLength: bytes.length,
    malformed: null,
    body: (async function* () {
      await nextTurn();
      yield new Uint8Array(bytes);
    })(),
    signal: new AbortController().signal,
    headers,
    header: (name) => headers.get(name.toLowerCase()),
  };
}

let front: MemoryFront;
let running: RunningTransport;

before(async () => {
  running = await startTransport("node", {
    makeFront: (handlers) => {
      front = new MemoryFront(handlers);
      return front;
    },
  });
});
after(() => running.stop());

/** Checks that no part of a response is so long that it blocks the others. */
function assertSliced(answer: MemoryAnswer, bytes: number): void {
  assert.equal(answer.body.length, bytes);
  assert.ok(answer.mostBytesInOneTurn <= 2 * SLICE_BYTES, `${answer.mostBytesInOneTurn} bytes in one turn`);
}

for (const [path, body] of [
  ["/v1/tts", { text: "long. short" }],
  ["/v1/audio/speech", { input: "long. short" }],
] as const) {
  test(`${path} sends a long WAV in slices with the same bytes and a total length`, async () => {
    const answer = await front.speak(path, body);
    assert.deepEqual(answer.body, WHOLE);
    assert.equal(answer.headers["content-length"], String(WHOLE.length));
    assertSliced(answer, WHOLE.length);
  });
}

test("/v1/tts with times sends long base64 in slices, with the length of the whole JSON", async () => {
  const answer = await front.speak("/v1/tts?timestamps=true", { text: "long. short" });
  const expected = JSON.stringify({
    audio: WHOLE.toString("base64"),
    format: "wav",
    sample_rate: RATE_HZ,
    duration: 100.01,
    words: [],
  });
  assert.ok(answer.body.equals(Buffer.from(expected)), "byte for byte what one piece would be");
  assert.equal(answer.headers["content-length"], String(expected.length));
  assert.equal(answer.headers["content-type"], "application/json");
  assertSliced(answer, expected.length);
});

for (const target of ["/v1/tts/stream", "/v1/tts/stream?timestamps=true"]) {
  test(`${target} sends a long sentence in slices of one frame`, async () => {
    const answer = await front.speak(target, { text: "long. short" });
    const words = target.includes("?") ? Buffer.from('wrds\x0c\x00\x00\x00{"words":[]}') : Buffer.alloc(0);
    const frames = SENTENCES.map((pcm) => {
      const wav = Buffer.concat([writeWav(pcm, RATE_HZ), words]);
      wav.writeUInt32LE(wav.length - 8, 4);
      return encodeWavFrame(wav);
    });
    const expected = Buffer.concat(frames);
    assert.ok(answer.body.equals(expected), "byte for byte what one piece would be");
    assertSliced(answer, expected.length);
  });
}

test("sends a short answer or frame in one piece", async () => {
  const whole = await front.speak("/v1/tts", { text: "short" });
  assert.equal(whole.chunkCount, 1);
  assert.equal(whole.headers["content-length"], String(44 + 480));
  assert.equal((await front.speak("/v1/tts?timestamps=true", { text: "short" })).chunkCount, 1);
  assert.equal((await front.speak("/v1/tts/stream", { text: "short. short" })).chunkCount, 2);
});

test("base64 of a body does not depend on how it is split into parts", async () => {
  const parts = fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 8 });
  fc.assert(
    fc.property(parts, (cut) => {
      const whole = Buffer.concat(cut);
      const { bytes, parts } = base64Body({ bytes: whole.length, parts: cut });
      const text = Buffer.concat([...parts]).toString("latin1");
      assert.equal(text, whole.toString("base64"));
      assert.equal(bytes, text.length);
    }),
  );
});
