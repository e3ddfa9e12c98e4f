import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFAULT_FRONT_LIMITS } from "../../../core/ports/front.js";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import { UwsFront } from "../../../src/front/uws/uws-front.js";
import { runProgram } from "../../support/run-program.js";

const binding = loadUwsBinding();
const skip = typeof binding === "string" && "the native front does not load here";
const PROGRAM = fileURLToPath(new URL("./uws-upgrades.js", import.meta.url));

// glibc fills freed memory with one of these bytes. Each bit is set in two of the four bytes and clear in the
// other two.
for (const freedBytes of ["15", "85", "170", "240"]) {
  test(`no socket closes after its upgrade, with freed memory full of ${freedBytes}`, {
    skip,
  }, async () => {
    const { code, stdout, stderr } = await runProgram(PROGRAM, ["100"], {
      env: { MALLOC_PERTURB_: freedBytes },
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { heard: 100, lost: 0 });
    // The library writes a warning to standard error about writes outside of a cork.
    assert.equal(stderr, "");
  });
}

test("a request with Connection: close is not upgraded, regardless of other headers", {
  skip,
}, async () => {
  const handlers = {
    request: async () => {},
    upgrade: () => Promise.reject(new Error("asked")),
    failed: (error: unknown) => assert.fail(String(error)),
  };
  const front = new UwsFront(binding as Exclude<typeof binding, string>, handlers, DEFAULT_FRONT_LIMITS);
  const port = await front.listen("127.0.0.1", 0);
  try {
    for (const connection of ["close", "close\r\nConnection: Upgrade", "keep-alive"]) {
      const socket = connect(port, "127.0.0.1");
      socket.write(
        `GET /v1/stream HTTP/1.1\r\nHost: here\r\nConnection: ${connection}\r\nUpgrade: websocket\r\n` +
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
      );
      const answer = (await socket.setEncoding("utf8").toArray()).join("");
      assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*\{"detail":"[^"]*upgrade"\}$/, connection);
    }
  } finally {
    await front.close(0);
  }
});
