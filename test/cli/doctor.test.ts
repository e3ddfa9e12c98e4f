import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ON_CPU } from "../../core/domain/placement/provider.js";
import { tryProvider } from "../../native/devices/try-provider.js";
import { providerLines } from "../../src/cli/doctor-report.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../support/folders.js";
import { runProgram } from "../support/run-program.js";

test("doctor reports working and missing parts, with reasons and how to install them", async () => {
  const folder = await temporaryFolder();
  const { code, stdout, stderr } = await runProgram("bin/dauys.js", ["doctor", "--no-measure", "--json"], {
    env: {
      DATA_DIR: folder,
      MODELS_DIR: "",
      EXECUTION_PROVIDERS: "cuda, cpu",
      VK_DRIVER_FILES: join(folder, "none.json"),
      LD_LIBRARY_PATH: "",
    },
  });
  const report = JSON.parse(stdout);
  assert.equal(report.node, process.version);
  assert.deepEqual(report.vulkan_drivers, []);
  const [cpu, cuda, webgpu] = report.providers;
  assert.deepEqual(
    [cpu.provider, cpu.works, cpu.missing, cpu.engines.map((each: { engine: string }) => each.engine)],
    ["cpu", true, [], ["live", "files", "speech"]],
  );
  assert.deepEqual([cuda.provider, cuda.works, cuda.engines], ["cuda", false, []]);
  assert.match(cuda.reason, /cuda/i);
  const runtime = cuda.missing.find((each: { name: string }) => each.name.startsWith("libonnxruntime"));
  assert.match(runtime.bring, /onnxruntime-node\/script\/install\.js/);
  assert.deepEqual([webgpu.provider, webgpu.works], ["webgpu", false]);
  assert.match(webgpu.missing.at(-1).bring, /mesa-vulkan-drivers/);
  assert.equal(code, 1);
  assert.match(stderr, /^dauys: cuda does not work: /m);
});

test("doctor measures each engine and prints one line for it", async () => {
  const folder = await temporaryFolder();
  const { code, stdout, stderr } = await runProgram("bin/dauys.js", ["doctor", "--seconds", "0.01"], {
    env: {
      DATA_DIR: folder,
      MODELS_DIR: "",
      VK_DRIVER_FILES: join(folder, "none.json"),
      LD_LIBRARY_PATH: "",
    },
  });
  assert.equal(code, 0, stderr);
  const [machine = "", cpu = "", ...others] = stdout.split("\n\n");
  assert.match(machine, /^node {9}v\d+\.\d+\.\d+, \S+ \S+$/m);
  assert.match(machine, /^onnxruntime {2}1\.\d+\.\d+; cpu, .*$/m);
  assert.match(machine, /^Vulkan {7}.*; no drivers$/m);
  const figure = String.raw`(\d+\.\d+)`;
  const [, live, files, speech] =
    new RegExp(
      `^cpu          works\n  live    \\d+ sessions \\(model steps only\\), ${figure} ms per step \\(svc-kk-ru-v2\\)\n` +
        `  files   ${figure} seconds of audio per second \\(svc-kk-ru-v2\\)\n` +
        `  speech  ${figure} seconds of audio per second \\(svc-kk-v1\\)$`,
    ).exec(cpu) ?? [];
  for (const each of [live, files, speech]) assert.ok(Number(each) > 0, cpu);
  for (const each of others) assert.match(each, /^(cuda|webgpu) +(works|does not work: .+)\n/);
  assert.match(stderr, /testing cpu/);
});

test("doctor reports why an engine was not measured", () => {
  const worth = { audioSecondsPerSecond: 43.7, sessions: 43, ms: 29.29 };
  const lines = providerLines({
    ...{ provider: "webgpu", works: true, reason: null, missing: [] },
    engines: [
      { engine: "live", model: "a", worth, unmeasured: null },
      { engine: "files", model: "a", worth: null, unmeasured: "did not finish within 120 s" },
      { engine: "speech", model: "b", worth: null, unmeasured: null },
    ],
  });
  assert.deepEqual(lines, [
    "",
    "webgpu       works",
    "  live    43 sessions (model steps only), 29.29 ms per step (a)",
    "  files   not measured: did not finish within 120 s (a)",
  ]);
});

test("doctor rejects an invalid --seconds", async () => {
  const { code, stderr } = await runProgram("bin/dauys.js", ["doctor", "--seconds", "0"]);
  assert.equal(code, 2);
  assert.match(stderr, /--seconds must be more than 0 and at most 60, received "0"/);
});

test("a provider that hangs or crashes does not affect earlier results", async () => {
  const request = {
    folder: RECOGNIZER_FOLDER,
    place: ON_CPU,
    graphs: [{ graph: "full", shapes: [{ batch: 1, frames: 8 }] }],
    placed: [{ graph: "gone", sizes: {} }],
    streams: [],
    shapeMs: 0,
    threads: 1,
    compares: false,
  };
  const whole = await tryProvider(request, { withinMs: 60_000 });
  assert.equal(whole.ended, null);
  assert.deepEqual(
    whole.shapes.map(({ graph, variant }) => [graph, variant]),
    [["full", "cpu"]],
  );
  assert.deepEqual(whole.failures, [
    { graph: "gone", reason: 'Cannot load svc-kk-ru-v2: its manifest does not list a file "gone"' },
  ]);
  const killed = await tryProvider(request, { withinMs: 1 });
  assert.deepEqual(killed, {
    shapes: [],
    placed: [],
    speech: [],
    failures: [],
    ended: "did not finish within 0.001 s",
  });
});
