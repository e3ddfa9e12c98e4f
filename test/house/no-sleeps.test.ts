import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { waitsOf } from "./waits.js";

/** Files that may wait for a fixed time or compare times, with reasons. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "test/support/eventually.ts": "what others wait with",
  "test/support/pace.ts": "what others wait with",
  "test/support/slow-link.ts": "a link on which what is sent arrives late",
  "test/support/manual-timers.test.ts": "calls the stand-in of setTimeout",
  "test/attack/support/raw-connection.ts": "wakes those who wait for bytes, at the end of their patience",
  "test/http/routes.test.ts": "tells speech that was sent at once from speech that was held back",
  "test/client/requests.test.ts": "Retry-After is a length of time",
  "test/cli/service-commands.test.ts": "audio is sent as fast as it is spoken",
};

test("tests contain no sleeps and no comparisons of times", () => {
  const names = readdirSync("test", { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => /\.ts$/.test(name)).map((name) => `test/${name}`);
  assert.ok(files.length > 200, `${files.length} files`);
  const found = files.flatMap((path) => {
    const waits = waitsOf(path, readFileSync(path, "utf8"));
    if (path in EXCEPTIONS) return waits.length > 0 ? [] : [`${path} is no exception any more`];
    return waits.map(({ kind, line }) => `${path}:${line} ${kind}`);
  });
  assert.deepEqual(found, []);
  for (const path of Object.keys(EXCEPTIONS)) assert.ok(files.includes(path), path);
});

test("finds sleeps and comparisons of times in every spelling", () => {
  const count = (text: string) => waitsOf("a.test.ts", text).length;
  for (const text of [
    'import { setTimeout as rest } from "node:timers/promises";',
    "await new Promise((resolve) => setTimeout(resolve, 50));",
    "globalThis.setTimeout(stop, ms);",
    "assert.ok(performance.now() - startedAtMs < 5_000);",
    "const tookMs = performance.now() - before; assert.ok(tookMs >= 450);",
    "let a = 0; a = Date.now(); const b = a + 5; assert(b > 5);",
  ])
    assert.equal(count(text), 1, text);
  for (const text of [
    "setTimeout(resolve, 0);",
    "socket.setTimeout(50);",
    "const until = performance.now() + 5; while (performance.now() < until) work();",
    "assert.ok(count > 5);",
    "const timer = setInterval(tick, 5);",
  ])
    assert.equal(count(text), 0, text);
});
