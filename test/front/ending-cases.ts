import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Departure } from "../../core/ports/front.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { pace, within } from "../support/pace.js";
import { get, once, open, PATIENCE_MS, raw, type TestedFront } from "./tested-front.js";

/** Slow readers, clients that leave, handlers that fail, malformed requests. */
export function endingCases(at: TestedFront): void {
  test("a departure that a slow reader delays is withdrawn, and reported again when it happens", async () => {
    const told: string[] = [];
    const block = randomBytes(20_000_000);
    const departure: Departure = {
      leaving: () => void told.push("leaving"),
      held: () => void told.push("held"),
    };
    at.handle = async (_request, response) => {
      response.start(200, { "content-length": String(block.length) });
      await response.end(block, departure);
    };
    const answer = await get(at.port, "/");
    answer.pause();
    await (at.inThreads
      ? pace(150)
      : eventually("the departure is taken back", () => told.at(-1) === "held"));
    for await (const chunk of answer) assert.ok(chunk.length > 0);
    await eventually("the departure", () => told.at(-1) === "leaving");
  });

  test("written bytes are sent before the next write", async () => {
    let release = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    at.handle = async (_request, response) => {
      response.start(200, {});
      await response.write(Buffer.from("first"));
      await isReleased;
      await response.end(Buffer.from("second"));
    };
    const answer = await get(at.port, "/");
    const [first] = (await within(PATIENCE_MS, "the first part", once(answer, "data"))) as [Buffer];
    assert.equal(String(first), "first");
    release();
    assert.equal(String(((await once(answer, "data")) as [Buffer])[0]), "second");
  });

  test("a backlog leaves although the writer pauses after it", async () => {
    const block = randomBytes(8_000_000);
    at.handle = async (_request, response) => {
      response.start(200, {});
      await response.write(block);
      await pace(300);
      await response.end(Buffer.from("end"));
    };
    const answer = await get(at.port, "/");
    answer.pause();
    await pace(50);
    let total = 0;
    for await (const chunk of answer) total += chunk.length;
    assert.equal(total, block.length + 3);
  });

  test("a client that leaves in mid-answer aborts the signal and ends the writer", async () => {
    const ended = deferred<{ aborted: boolean; code: unknown }>();
    at.handle = async (request, response) => {
      response.start(200, {});
      try {
        for (;;) await response.write(Buffer.alloc(100_000));
      } catch (error) {
        await eventually(
          "the signal, which may come right after the failed write",
          () => request.signal.aborted,
        );
        ended.resolve({ aborted: true, code: (error as { code?: unknown }).code });
        throw error;
      }
    };
    const answer = await get(at.port, "/");
    answer.once("data", () => answer.destroy());
    assert.deepEqual(await ended.promise, { aborted: true, code: "CANCELLED" });
  });

  test("a client that leaves while the handler thinks aborts the signal", async () => {
    const begun = deferred<void>();
    const aborted = deferred<boolean>();
    at.handle = async (request, response) => {
      request.signal.addEventListener("abort", () => aborted.resolve(true));
      begun.resolve();
      await aborted.promise;
      response.reset();
    };
    const socket = await open(at.port);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await begun.promise;
    socket.destroy();
    assert.equal(await within(PATIENCE_MS, "the handler is notified", aborted.promise), true);
  });

  test("a client that leaves in the middle of its upload fails the body", async () => {
    const begun = deferred<void>();
    const failed = deferred<unknown>();
    at.handle = async (request, response) => {
      try {
        for await (const _ of request.body) begun.resolve();
      } catch (error) {
        failed.resolve((error as { code?: unknown }).code);
        response.reset();
      }
    };
    const socket = await open(at.port);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf");
    await begun.promise;
    socket.destroy();
    assert.equal(await within(PATIENCE_MS, "the body fails", failed.promise), "CANCELLED");
  });

  test("a reset response cannot be mistaken for a complete one", async () => {
    at.handle = async (_request, response) => {
      response.start(200, {});
      await response.write(Buffer.from("part"));
      await pace(20);
      response.reset();
      assert.equal(response.isOver, true);
    };
    await assert.rejects(fetch(at.base).then((answer) => answer.text()));
  });

  test("a handler that throws is answered with 500 {detail}, and the front lives on", async () => {
    for (const isAsync of [false, true]) {
      at.failures.length = 0;
      at.handle = isAsync
        ? async () => {
            await pace(5);
            throw new Error("secret");
          }
        : () => {
            throw new Error("secret");
          };
      const answer = await fetch(at.base);
      assert.equal(answer.status, 500);
      assert.deepEqual(await answer.json(), { detail: "internal error" });
      assert.equal(at.failures.length, 1);
    }
  });

  test("a handler that throws after it began breaks the connection", async () => {
    at.handle = async (_request, response) => {
      response.start(200, {});
      await response.write(Buffer.from("part"));
      throw new Error("secret");
    };
    await assert.rejects(fetch(at.base).then((answer) => answer.text()));
  });

  test("a handler that forgets to answer is answered with 500", async () => {
    at.handle = async () => {};
    assert.equal((await fetch(at.base)).status, 500);
  });

  for (const [what, headers] of [
    ["conflicting lengths", "Content-Length: 3\r\nContent-Length: 5"],
    ["the same length twice", "Content-Length: 3\r\nContent-Length: 3"],
    ["a length and chunks", "Content-Length: 3\r\nTransfer-Encoding: chunked"],
    ["a length that is no number", "Content-Length: 3x"],
    ["a list of lengths", "Content-Length: 3, 3"],
    ["no length behind its name", "Content-Length:"],
    ["a coding before chunked", "Transfer-Encoding: gzip, chunked"],
    ["a coding that ends like chunked", "Transfer-Encoding: xchunked"],
    ["another coding", "Transfer-Encoding: identity"],
    ["two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
    ["no coding behind its name", "Transfer-Encoding:"],
    ["two hosts", "Host: y"],
  ] as const) {
    test(`a request with ${what} never reaches a handler as good, and its connection ends`, async () => {
      let good = 0;
      at.handle = async (request, response) => {
        if (request.malformed === null) good++;
        response.start(request.malformed === null ? 200 : 400, {});
        await response.end();
      };
      const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
      const asked = raw(at.port, `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\nabc${smuggled}`);
      const text = await within(PATIENCE_MS, "its connection is closed by the front", asked);
      assert.equal(good, 0, text);
      assert.ok(text === "" || /^HTTP\/1.1 400/.test(text), text);
      assert.ok(text === "" || /^connection: close\r$/im.test(text), text);
      assert.equal(text.match(/HTTP\/1.1/g)?.length ?? 0, text === "" ? 0 : 1);
    });
  }
}
