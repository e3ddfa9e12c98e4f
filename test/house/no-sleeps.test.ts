import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { waitsOf } from "./waits.js";

/** Files that may wait for a fixed time or compare times, each with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "test/support/eventually.ts": "the waiting that other tests use",
  "test/support/pace.ts": "the waiting that other tests use",
  "test/support/slow-link.ts": "a link that delays what is sent",
  "test/support/manual-timers.test.ts": "calls a replacement of setTimeout",
  "test/attack/support/raw-connection.ts": "ends the wait for bytes after a time limit",
  "test/http/routes.test.ts": "distinguishes speech that was sent immediately from speech that was held back",
  "test/client/requests.test.ts": "Retry-After is a duration",
  "test/cli/service-commands.test.ts": "audio is sent at the speed of speech",
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
