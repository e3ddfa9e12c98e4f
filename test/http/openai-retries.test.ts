import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI5 from "openai-5";
import OpenAI6 from "openai-6";
import { ServiceError } from "../../core/domain/errors.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { startTransport } from "./running-transport.js";

const REFUSALS = [
  {
    error: new ServiceError("OUT_OF_CREDITS", "needs 5 credits, 1 left"),
    attempts: 1,
    name: "out_of_credits",
  },
  { error: new ServiceError("TOO_MANY_REQUESTS", "at most 2"), attempts: 2, name: "too_many_requests" },
];

for (const [version, OpenAI] of [
  ["5", OpenAI5],
  ["6", OpenAI6 as unknown as typeof OpenAI5],
] as const) {
  for (const { error, attempts, name } of REFUSALS) {
    test(`the openai client ${version} tries ${attempts} times when the response is ${name}`, async () => {
      const running = await startTransport("node");
      running.conversations.nextTranscription = error;
      const client = new OpenAI({ apiKey: GOOD_KEY, baseURL: `${running.base}/v1`, maxRetries: 1 });
      const file = new File(["x"], "a.wav");
      await assert.rejects(client.audio.transcriptions.create({ model: "whisper-1", file }), (thrown) => {
        assert.ok(thrown instanceof OpenAI.RateLimitError);
        assert.equal(thrown.headers.get("x-svc-error"), name);
        return true;
      });
      assert.equal(running.conversations.uploads.length, attempts);
      await running.stop();
    });
  }
}
