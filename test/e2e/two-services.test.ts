// To clients, two services that share a database look like one. The API suites run over both, and each
// request picks one at random; `node scripts/two-services.mjs` runs more of them.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import WebSocket from "ws";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { startTwoServices } from "../support/service-process.js";

test("two services accept each other's tokens once and share limits", async () => {
  const service = await startTwoServices({
    ...(await lightModels()),
    LIVE_PER_ORG: "1",
    FREE_LIVE_PER_ORG: "1",
  });
  const [here, there] = service.services;
  const headers = { authorization: `Bearer ${service.key}` };
  try {
    const answer = await fetch(`${here.url}/v1/stream/token`, { method: "POST", headers });
    const { token } = (await answer.json()) as { token: string };
    const address = ({ url }: { url: string }) => `${url.replace("http", "ws")}/v1/stream`;
    const live = new WebSocket(`${address(there)}?token=${token}`);
    await once(live, "open");
    const used = new WebSocket(`${address(here)}?token=${token}`);
    assert.equal((await once(used, "close"))[0], 4401, "used on the other service");
    // The session occupies a slot on the other service as soon as its credits are held.
    await eventually("one place is taken on both", async () => {
      const balance = await fetch(`${here.url}/v1/balance`, { headers });
      return ((await balance.json()) as { held: number }).held > 0;
    });
    const refused = new WebSocket(address(here), { headers });
    refused.on("error", () => {});
    const [, refusal] = await once(refused, "unexpected-response");
    assert.equal(refusal.statusCode, 429);
    assert.equal(refusal.headers["x-svc-error"], "too_many_requests");
    refused.terminate();
    live.close();
    await eventually("the place is given again", async () => {
      const next = new WebSocket(address(here), { headers });
      next.on("error", () => {});
      const isOpen = await Promise.race([
        once(next, "open").then(() => true),
        once(next, "unexpected-response").then(() => false),
      ]);
      next.terminate();
      return isOpen;
    });
  } finally {
    assert.equal(await service.stop(), 0, service.output());
  }
});

process.env["TEST_SERVICES"] = "2";
await import("../client/service.test.js");
