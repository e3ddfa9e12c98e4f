import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../../bench/support/free-port.js";
import { temporaryFolder } from "../support/folders.js";
import { runProgram } from "../support/run-program.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const MAIN = fileURLToPath(new URL("../../src/main.js", import.meta.url));

/** A provider that this machine does not have. */
const MISSING = hasCuda() ? "dml" : "cuda";

function hasCuda(): boolean {
  const binding = dirname(createRequire(import.meta.url).resolve("onnxruntime-node/package.json"));
  return existsSync(join(binding, "bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so"));
}

let service: ServiceProcess;
let operator: string;

before(async () => {
  const port = await freePort();
  operator = `http://127.0.0.1:${port}`;
  service = await startServiceProcess({
    EXECUTION_PROVIDERS: `${MISSING},cpu`,
    LIVE_EXECUTION_PROVIDERS: "cpu",
    OPERATOR_PORT: String(port),
  });
});
after(async () => assert.equal(await service.stop(), 0, service.output()));

test("a missing provider is skipped with one warning, and operators see where each engine runs", async () => {
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: "Сәлем.", nfe: 4 }),
  });
  assert.equal(answer.status, 200);
  await answer.arrayBuffer();
  const warnings = service
    .output()
    .split("\n")
    .filter((line) => line.includes('"provider unusable"'));
  assert.equal(warnings.length, 1);
  const { provider, reason } = JSON.parse(warnings[0]!) as { provider: string; reason: string };
  assert.equal(provider, MISSING);
  assert.ok(reason.length > 0);
  const metrics = await (await fetch(`${operator}/metrics`)).text();
  for (const line of [
    `provider_fallbacks_total{engine="synthesis",from="${MISSING}",to="cpu"} 1`,
    `provider_fallbacks_total{engine="transcription",from="${MISSING}",to="cpu"} 1`,
    'model_provider_info{engine="synthesis",graph="svc-kk-v1/step",provider="cpu",device="default",variant="cpu"} 1',
    'gpu_errors_total{kind="lost"} 0',
  ])
    assert.ok(metrics.split("\n").includes(line), `${line} in ${metrics}`);
  assert.doesNotMatch(metrics, /provider_fallbacks_total\{engine="live"/);
  const [, runs] = /^model_run_ms_count\{graph="svc-kk-v1\/step"\} (\d+)$/m.exec(metrics) ?? [];
  const [, endless] =
    /^model_run_ms_bucket\{le="\+Inf",graph="svc-kk-v1\/step"\} (\d+)$/m.exec(metrics) ?? [];
  assert.ok(Number(runs) >= 4, `${runs} steps`);
  assert.equal(endless, runs);
  const health = await (await fetch(`${operator}/health`)).json();
  assert.deepEqual(health, {
    status: "ok",
    engines: [
      ["live", "svc-kk-ru-v2", "cold", null],
      ["transcription", "svc-kk-ru-v2", "cold", { from: MISSING, reason }],
      ["synthesis", "svc-kk-v1", "warm", { from: MISSING, reason }],
    ].map(([engine, model, state, fallback]) => ({
      ...{ engine, model, state, provider: "cpu", devices: ["default"], fallback },
    })),
  });
});

test("a list without an available provider fails the start with the setting's name and the runtime's message", async () => {
  const dataDir = join(await temporaryFolder(), "data");
  const env = { DATA_DIR: dataDir, PORT: "0", FILE_EXECUTION_PROVIDERS: MISSING };
  const { code, stderr } = await runProgram(MAIN, [], { env });
  assert.equal(code, 1);
  const rule = "FILE_EXECUTION_PROVIDERS must contain a provider that works here";
  const told = `dauys: cannot start: ${rule}, received "${MISSING}" (${MISSING}: `;
  assert.ok(stderr.includes(told), stderr);
  assert.ok(!existsSync(dataDir), "nothing is created before");
});
