import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, startTransport } from "./running-transport.js";

const HEADERS = { authorization: `Bearer ${GOOD_KEY}` };

for (const front of FRONTS) {
  test(`${front}: a response reports a wait of more than a second for a model`, async () => {
    const running = await startTransport(front);
    const { conversations, base } = running;
    const { synthesis, transcription } = conversations;
    const headerAfter = async (waits: readonly number[], path: string, body: string) => {
      conversations.synthesis = (caller, request, delivery) => {
        for (const waitedMs of waits) caller.onModelWait?.(waitedMs);
        return synthesis(caller, request, delivery);
      };
      conversations.transcription = (caller, file, wishes) => {
        for (const waitedMs of waits) caller.onModelWait?.(waitedMs);
        return transcription(caller, file, wishes);
      };
      const answer = await fetch(base + path, { method: "POST", headers: HEADERS, body });
      await answer.arrayBuffer();
      assert.match(answer.headers.get("access-control-expose-headers") ?? "", /X-Svc-Cold-Start-Ms/);
      return [answer.status, answer.headers.get("x-svc-cold-start-ms")];
    };
    try {
      for (const path of ["/v1/tts", "/v1/tts/stream"]) {
        assert.deepEqual(await headerAfter([0.2], path, '{"text":"one"}'), [200, null]);
        assert.deepEqual(await headerAfter([1_000], path, '{"text":"one"}'), [200, null]);
        assert.deepEqual(await headerAfter([1_000.6], path, '{"text":"one"}'), [200, "1001"]);
        assert.deepEqual(await headerAfter([900, 300.4], path, '{"text":"one"}'), [200, "1200"]);
      }
      assert.deepEqual(await headerAfter([2_500], "/v1/audio/speech", '{"input":"one"}'), [200, "2500"]);
      assert.deepEqual(await headerAfter([2_500], "/v1/transcribe", "x"), [200, "2500"]);
      conversations.nextTranscription = new ServiceError("ENGINE_BUSY", "the model is still being loaded");
      assert.deepEqual(await headerAfter([50_000], "/v1/transcribe", "x"), [503, "50000"]);
    } finally {
      await running.stop();
    }
  });
}
