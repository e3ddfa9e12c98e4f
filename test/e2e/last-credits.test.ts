import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dauysInTurn } from "../support/command-process.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/**
 * Three characters cost 300 credits, so a free grant of 25,000 pays for 83 of a hundred requests and leaves
 * 100.
 */
const SETTINGS = { TARIFF_SYNTHESIS: "100/1", FREE_SYNTHESIS_PER_ORG: "100", SYNTHESIS_PER_ORG: "100" };
const REQUESTS = 100;
const TEXT = "Ия.";
const AFFORDABLE = 83;
const LEFT = 100;

let service: ServiceProcess;

before(async () => {
  service = await startServiceProcess(SETTINGS);
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

async function operator<T>(...args: readonly string[]): Promise<T> {
  const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
    env: { DATA_DIR: service.dataDir },
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

function speak(path: string, key: string, text: string): Promise<Response> {
  return fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nfe: 4 }),
  });
}

test("of a hundred simultaneous requests for the last credits, exactly as many as fit are served", async () => {
  const { id } = await operator<{ id: string }>("orgs", "create", "customer");
  const { key } = await operator<{ key: string }>("keys", "create", "--org", id);
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, i) => {
      const answer = await speak(i % 2 === 0 ? "/v1/tts" : "/v1/tts/stream", key, TEXT);
      const bytes = await answer.arrayBuffer();
      return { status: answer.status, error: answer.headers.get("x-svc-error"), bytes: bytes.byteLength };
    }),
  );
  const served = answers.filter(({ status, bytes }) => status === 200 && bytes > 1_000);
  const refused = answers.filter(({ status, error }) => status === 429 && error === "out_of_credits");
  assert.deepEqual([served.length, refused.length], [AFFORDABLE, REQUESTS - AFFORDABLE]);
  const ledger = await operator<{ balance: number; held: number; data: { amount: number }[] }>("ledger", id);
  assert.deepEqual([ledger.balance, ledger.held], [LEFT, 0]);
  assert.equal(ledger.data.filter(({ amount }) => amount === -300).length, AFFORDABLE);
  // The remaining credits still pay for work that costs no more than that.
  const last = await speak("/v1/tts", key, "Ә");
  assert.equal(last.status, 200);
  await last.arrayBuffer();
  assert.equal((await operator<{ balance: number }>("ledger", id)).balance, 0);
});
