import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const HEADERS = { authorization: `Bearer ${GOOD_KEY}` };
/** One path of each part, with its method. */
const OF_PART: Readonly<Record<ServedPart, readonly [string, string]>> = {
  synthesis: ["POST", "/v1/tts"],
  transcription: ["POST", "/v1/transcribe"],
  live: ["GET", "/v1/stream"],
};

for (const front of FRONTS) {
  for (const part of SERVED_PARTS) {
    describe(`a service for ${part} alone, on ${front}`, { concurrency: 1 }, () => {
      let running: RunningTransport;

      before(async () => {
        running = await startTransport(front, { serve: [part] });
      });
      after(() => running.stop());

      test("the paths of other parts point to another service", async () => {
        for (const other of SERVED_PARTS) {
          const [method, path] = OF_PART[other];
          const answer = await fetch(running.base + path, { method, headers: HEADERS });
          const { detail } = (await answer.json()) as { detail: string };
          if (other === part) assert.equal(answer.status, 400, `${path} is there: ${detail}`);
          else {
            const wanted = `${path} is not served here: this service serves ${part}, another one ${other}`;
            assert.deepEqual([answer.status, detail], [404, wanted]);
            assert.equal(answer.headers.get("x-svc-error"), "not_found");
          }
        }
      });

      test("live sockets open only if the service serves live transcription", async () => {
        const socket = new WebSocket(`ws://127.0.0.1:${running.port}/v1/stream`, { headers: HEADERS });
        socket.on("error", () => {});
        if (part === "live") await once(socket, "open");
        else {
          const [, refusal] = await once(socket, "unexpected-response");
          assert.equal(refusal.statusCode, 404);
        }
        socket.terminate();
      });

      test("only the models and paths of its own part are listed", async () => {
        const get = async (path: string) => (await fetch(running.base + path)).json();
        const models = (await get("/v1/models")) as { data: unknown[]; transcription: unknown[] };
        const health = (await get("/health")) as { models: unknown[] };
        assert.equal(models.data.length > 0, part === "synthesis");
        assert.equal(models.transcription.length > 0, part !== "synthesis");
        assert.equal(health.models.length, models.data.length + models.transcription.length);
        assert.equal((await fetch(`${running.base}/v1/voices`)).status, part === "synthesis" ? 200 : 404);
        const { paths } = (await get("/openapi.json")) as { paths: Record<string, unknown> };
        for (const other of SERVED_PARTS) assert.equal(OF_PART[other][1] in paths, other === part);
        for (const path of ["/v1/balance", "/v1/stream/token", "/health"]) assert.ok(path in paths);
        assert.ok(Object.keys(paths).length < new Set(ENDPOINTS.map(({ path }) => path)).size);
      });

      test("stream tokens and balances are available whatever the part", async () => {
        const asked = { method: "POST", headers: HEADERS };
        assert.equal((await fetch(`${running.base}/v1/stream/token`, asked)).status, 200);
        assert.equal((await fetch(`${running.base}/v1/balance`, { headers: HEADERS })).status, 200);
      });
    });
  }
}
