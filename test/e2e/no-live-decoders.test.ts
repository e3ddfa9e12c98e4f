// A service that decodes no live audio, by its settings.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { liveDecodersOf } from "../input/media/processes.js";
import { compressedSpeech, hear, SPEECH } from "../support/compressed-live.js";
import { lightModels } from "../support/light-models.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

describe("a service without decoders of live audio", { concurrency: 1 }, () => {
  let service: ServiceProcess;
  before(async () => {
    service = await startServiceProcess({ ...(await lightModels()), LIVE_DECODERS: "0" });
    await creditDevelopment(service, 1_000_000);
  });
  after(async () => assert.equal(await service.stop(), 0, service.output()));

  test("rejects compressed audio with the format to send instead, and serves samples", async () => {
    const { webm, ogg } = await compressedSpeech();
    const samples = new Uint8Array(SPEECH.buffer, SPEECH.byteOffset, SPEECH.byteLength);
    for (const [path, audio, rule] of [
      ["/v1/stream", webm, /^live audio must be 16-bit .* samples, received WebM \(.*AudioWorklet/],
      ["/v1/listen", ogg, /^live audio must be 16-bit .* samples, received Ogg \(/],
      ["/v2/listen", webm, /received WebM/],
      [
        "/v1/listen?encoding=opus",
        ogg,
        /^encoding=opus is not supported by this service; send encoding=linear16$/,
      ],
    ] as const) {
      const { messages, closeCode } = await hear(service, path, [audio]);
      const { code, variant = code, detail, description = detail } = messages.at(-1)!;
      assert.deepEqual([closeCode, variant], [4400, "unsupported_format"], path);
      assert.match(description!, rule);
      assert.equal(liveDecodersOf(service.child.pid!).length, 0);
      if (path.includes("?")) continue;
      const { finals, closeCode: ended } = await hear(service, path, [samples]);
      assert.equal(ended, 1000, path);
      assert.ok(finals.length > 0 && finals.every((text) => text !== ""), path);
    }
  });
});
