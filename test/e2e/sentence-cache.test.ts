import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../../bench/support/free-port.js";
import { readMetrics, risen } from "../../bench/support/operator-metrics.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const TEXT = "Бүгін ауа райы жақсы болады. Кітапхана таңертең ашылады.";
const CREDITS = Math.ceil(([...TEXT].length * 2) / 5);
const FREE_CREDITS = 25_000;
const IDLE_WITHIN_MS = 60_000;

async function speak(service: ServiceProcess, path = "/v1/tts?timestamps=true"): Promise<Buffer> {
  const answer = await fetch(service.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: TEXT, nfe: 8 }),
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("x-svc-chars"), String([...TEXT].length));
  return Buffer.from(await answer.arrayBuffer());
}

test("a repeated sentence gives the same bytes without a model run, at the usual price", async () => {
  const bare = await startServiceProcess();
  const [made, madeStream] = [await speak(bare), await speak(bare, "/v1/tts/stream")];
  assert.equal(await bare.stop(), 0);
  const operatorPort = await freePort();
  const service = await startServiceProcess({
    SENTENCE_CACHE_MB: "8",
    MODEL_IDLE_S: "1",
    OPERATOR_PORT: String(operatorPort),
  });
  try {
    const before = await readMetrics(operatorPort);
    assert.deepEqual(await speak(service), made);
    const first = await readMetrics(operatorPort);
    assert.deepEqual(
      [risen(before, first, "tts_cache_misses_total"), first.get("tts_cache_hits_total")],
      [2, 0],
    );
    await untilReleased(operatorPort);
    assert.deepEqual(await speak(service), made);
    assert.deepEqual(await speak(service, "/v1/tts/stream"), madeStream);
    const again = await readMetrics(operatorPort);
    assert.equal(risen(first, again, "tts_cache_hits_total"), 4);
    assert.equal(risen(first, again, "tts_cache_misses_total"), 0);
    assert.equal(risen(first, again, "tts_model_runs_total"), 0);
    assert.equal(risen(first, again, "model_loads_total"), 0, "nothing was loaded for them");
    const bytes = again.get("tts_cache_bytes") ?? 0;
    assert.ok(bytes > 50_000 && bytes < 8 * 2 ** 20, `${bytes} bytes`);
    const env = { DATA_DIR: service.dataDir };
    const { stdout } = await dauysInTurn(["ledger", "org_development", "--json"], { env });
    assert.equal((JSON.parse(stdout) as { balance: number }).balance, FREE_CREDITS - 3 * CREDITS);
  } finally {
    assert.equal(await service.stop(), 0, service.output());
  }
});

async function untilReleased(operatorPort: number): Promise<void> {
  const isReleased = async () => (await readMetrics(operatorPort)).get("model_loaded") === 0;
  await eventually("the models are released", isReleased, IDLE_WITHIN_MS);
}
