import assert from "node:assert/strict";
import { test } from "node:test";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, startTransport } from "./running-transport.js";

for (const front of FRONTS) {
  test(`${front}: a speech response reports text that is Russian or not fully spoken`, async () => {
    const running = await startTransport(front);
    const headerOf = async (path: string, body: object) => {
      const answer = await fetch(running.base + path, {
        method: "POST",
        headers: { authorization: `Bearer ${GOOD_KEY}` },
        body: JSON.stringify(body),
      });
      await answer.arrayBuffer();
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get("access-control-expose-headers") ?? "", /X-Svc-Notes/);
      return answer.headers.get("x-svc-notes");
    };
    const russian = "Сегодня хорошая погода.";
    const kazakh = "Бүгін ауа райы жақсы.";
    try {
      for (const path of ["/v1/tts", "/v1/tts?timestamps=true", "/v1/tts/stream"]) {
        assert.equal(await headerOf(path, { text: `${kazakh} ${russian}` }), "russian_text", path);
        assert.equal(await headerOf(path, { text: kazakh }), null, path);
        assert.equal(await headerOf(path, { text: `${kazakh} 😀` }), "dropped_characters", path);
      }
      for (const response_format of ["wav", "pcm"]) {
        const body = { response_format };
        assert.equal(await headerOf("/v1/audio/speech", { input: russian, ...body }), "russian_text");
        assert.equal(await headerOf("/v1/audio/speech", { input: kazakh, ...body }), null);
      }
    } finally {
      await running.stop();
    }
  });
}
