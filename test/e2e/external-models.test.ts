import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { joined, silence, tone, wavOf } from "../support/audio.js";
import { NEEDS_ESPEAK } from "../support/espeak.js";
import { changeManifest, temporaryFolder } from "../support/folders.js";
import { startServiceProcess } from "../support/service-process.js";

test("a service runs on packages of public weights in a folder of its user's", NEEDS_ESPEAK, async () => {
  const models = await temporaryFolder();
  for (const [name, id] of [
    ["tiny-zipformer2-ctc", "svc-kk-ru-v2"],
    ["tiny-vits", "svc-kk-v1"],
  ] as const) {
    const folder = join(models, name);
    await cp(`test/fixtures/adapters/${name}`, folder, { recursive: true });
    // Requests that name no model ask for these.
    await changeManifest(folder, (manifest) => ({ ...manifest, id }));
  }
  const service = await startServiceProcess({ MODELS_DIR: models });
  try {
    const headers = { authorization: `Bearer ${service.key}` };
    const speak = (request: object, path = "/v1/tts") =>
      fetch(`${service.url}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ text: "Сәлем, әлем! Бағасы 15%.", ...request }),
      });
    const wavs: Uint8Array[] = [];
    for (const request of [{}, { voice: "third", speed: 2 }, { model: "svc-kk-v1", nfe: 4, speed: 0.5 }]) {
      const spoken = await speak(request);
      assert.equal(spoken.status, 200, await spoken.clone().text());
      wavs.push(new Uint8Array(await spoken.arrayBuffer()));
    }
    assert.equal(new DataView(wavs[0]!.buffer).getUint32(24, true), 24_000);
    const [usual, fast, slow] = wavs.map((wav) => wav.length) as [number, number, number];
    assert.ok(fast < usual && usual < slow, `${fast} ${usual} ${slow}`);
    const stream = await speak({}, "/v1/tts/stream");
    assert.equal(stream.status, 200);
    assert.ok((await stream.arrayBuffer()).byteLength >= usual);
    const refused = await speak({ voice: "aigul" });
    assert.deepEqual([refused.status, refused.headers.get("x-svc-error")], [404, "unknown_voice"]);
    const { data } = (await (await fetch(`${service.url}/v1/models`)).json()) as {
      data: readonly { readonly word_times: boolean }[];
    };
    assert.deepEqual(
      data.map(({ word_times }) => word_times),
      [false],
    );
    const timed = await speak({}, "/v1/tts?timestamps=true");
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
