import assert from "node:assert/strict";
import { test } from "node:test";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";
import { startBystander } from "./support/bystander.js";
import { HealthProbe } from "./support/health-probe.js";
import { WebSocketClient } from "./support/web-socket-client.js";

test("the attack monitors report an unattacked service as healthy", async () => {
  const service = await AttackedService.start(ATTACKED_FRONTS[0]!);
  const { id, key } = await service.newCustomer();
  const probe = new HealthProbe(service.port);
  const bystander = startBystander({ url: service.url, key, utterances: 2 });
  const client = await WebSocketClient.open({ port: service.port, path: "/v1/stream", key });
  assert.equal(client.status, 101);
  assert.ok(await client.untilMessage("ready"));
  await client.sendText('{"type":"close"}');
  assert.deepEqual(await client.ended(), { code: 1000, reason: "done" });
  assert.equal(client.messages("done").length, 1);
  const { finals, closeCode } = await bystander.result;
  assert.equal(closeCode, 1000);
  assert.equal(finals.length, 2);
  assert.equal(finals[0]?.text, finals[1]?.text);
  const { count, failures } = await probe.stop();
  assert.ok(count > 100, `${count} answers`);
  assert.equal(failures, 0);
  assert.ok((await service.chargedTo(id)) > 0);
  await service.stopSound();
});
