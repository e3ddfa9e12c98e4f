import assert from "node:assert/strict";
import { test } from "node:test";
import { type CommandInput, UsageError } from "../../src/cli/command.js";
import { hostUrls } from "../../src/cli/service-url.js";

function urls(options: Record<string, string>, environment: Record<string, string> = {}) {
  const text = (name: string) => options[name] ?? null;
  return hostUrls({ options: { text }, environment } as unknown as CommandInput);
}

test("file and live transcription can have separate addresses", () => {
  const environment = {
    DAUYS_STT_URL: "https://stt.example.test/",
    DAUYS_STREAM_URL: "wss://live.example.test",
  };
  assert.deepEqual(urls({}), {});
  assert.deepEqual(urls({}, environment), {
    sttUrl: "https://stt.example.test",
    streamUrl: "wss://live.example.test",
  });
  assert.deepEqual(urls({ "stt-url": "http://127.0.0.1:9000" }, environment).sttUrl, "http://127.0.0.1:9000");
});

test("a typed --url overrides separate hosts from the environment", () => {
  const typed = { url: "https://all.example.test", "stream-url": "https://live.example.test" };
  const environment = {
    DAUYS_STT_URL: "https://stt.example.test",
    DAUYS_STREAM_URL: "https://no.example.test",
  };
  assert.deepEqual(urls(typed, environment), { streamUrl: "https://live.example.test" });
});

test("an invalid address is rejected with the name of its option or variable", () => {
  assert.throws(() => urls({ "stt-url": "stt.example.test" }), UsageError);
  assert.throws(
    () => urls({ "stt-url": "wss://stt.example.test" }),
    /--stt-url must be an http or https URL/,
  );
  assert.throws(
    () => urls({}, { DAUYS_STREAM_URL: "ftp://x" }),
    /DAUYS_STREAM_URL must be an http, https, ws or wss URL, received "ftp:\/\/x"/,
  );
});
