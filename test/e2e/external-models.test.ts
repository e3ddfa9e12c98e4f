import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { joined, silence, tone, wavOf } from "../support/audio.js";
import { changeManifest, temporaryFolder } from "../support/folders.js";
import { startServiceProcess } from "../support/service-process.js";

test("a service runs on packages of public weights in a folder of its user's", async () => {
  const models = await temporaryFolder();
  for (const [name, id] of [
    ["tiny-zipformer2-ctc", "svc-kk-ru-v2"],
    ["tiny-matcha", "svc-kk-v1"],
  ] as const) {
    const folder = join(models, name);
    await cp(`test/fixtures/adapters/${name}`, folder, { recursive: true });
    // Requests that name no model ask for these.
    await changeManifest(folder, (manifest) => ({ ...manifest, id }));
  }
  const service = await startServiceProcess({ MODELS_DIR: models });
  try {
    const headers = { authorization: `Bearer ${service.key}` };
    const spoken = await fetch(`${service.url}/v1/tts`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ text: "Сәлем, әлем!" }),
    });
    assert.equal(spoken.status, 200, await spoken.clone().text());
    const wav = new Uint8Array(await spoken.arrayBuffer());
    assert.equal(new DataView(wav.buffer).getUint32(24, true), 22_050);
    const { data } = (await (await fetch(`${service.url}/v1/models`)).json()) as {
      data: readonly { readonly word_times: boolean }[];
    };
    assert.deepEqual(
      data.map(({ word_times }) => word_times),
      [false],
    );
    const timed = await fetch(`${service.url}/v1/tts?timestamps=true`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ text: "Сәлем, әлем!" }),
    });
    const { detail } = (await timed.json()) as { detail: string };
    assert.deepEqual([timed.status, timed.headers.get("x-svc-error")], [400, "invalid_request"]);
    assert.match(detail, /timestamps must be false: svc-kk-v1 does not tell/);
    const form = new FormData();
    const bursts = joined(silence(0.5), tone(0.4, [400, 900]), tone(0.5, [1_500]), silence(0.8));
    form.append("file", new Blob([wavOf(bursts, 16_000, 1)]), "bursts.wav");
    const heard = await fetch(`${service.url}/v1/transcribe`, { method: "POST", headers, body: form });
    const body = await heard.text();
    assert.equal(heard.status, 200, body);
    assert.notEqual((JSON.parse(body) as { text: string }).text, "");
  } finally {
    assert.equal(await service.stop(), 0, service.output());
  }
});
