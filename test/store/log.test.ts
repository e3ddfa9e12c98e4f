import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../core/observe/log.js";
import { newRawKey } from "../../src/store/accounts/key-secret.js";

function linesOf(write: (log: ReturnType<typeof createLog>) => void): string {
  let written = "";
  write(createLog({ level: "info", destination: { write: (line: string) => (written += line) } }));
  return written;
}

test("keys and passwords never reach the log", () => {
  const key = newRawKey();
  const url = "postgres://dauys:hunter2@db:5432/dauys";
  const written = linesOf((log) => {
    log.info({ authorization: `Bearer ${key}`, apiKey: key }, "by field");
    log.info({ request: { headers: { authorization: `Bearer ${key}` } } }, "by nested field");
    log.error({ err: new Error(`connect to ${url} with ${key} failed`) }, "by error");
    log.info(`in text: ${key} ${url}`);
    log.info({ note: `Bearer ${key.toUpperCase().replace("SK-SVC-", "sk-svc-")}` }, "malformed");
  });
  assert.equal(written.trim().split("\n").length, 5);
  const digits = key.slice("sk-svc-".length);
  assert.ok(!written.toLowerCase().includes(digits), written);
  assert.ok(!written.includes("hunter2"), written);
});

test("masked lines remain JSON", () => {
  const written = linesOf((log) => log.info({ url: "postgres://u:p@h/d", key: newRawKey() }, "masked"));
  assert.equal(JSON.parse(written).url, "postgres://u:[redacted]@h/d");
});
