import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { InferenceSession, Tensor } from "onnxruntime-node";

const PYTHON = "/usr/bin/python3";
const RECIPE = "models/recipes/recognizer";
/** Checks for the modules without loading them, because loading torch alone takes two seconds. */
const LOOK = `
import sys
from importlib.util import find_spec
sys.exit(" ".join(name for name in ("torch", "onnx", "scipy", "soundfile") if find_spec(name) is None) or None)
`;

/** Returns the reason why the recipe cannot run on this machine, or false. */
function missingParts(): string | false {
  const { status, stderr } = spawnSync(PYTHON, ["-c", LOOK], { encoding: "utf8" });
  const { status: ffmpegStatus } = spawnSync("ffmpeg", ["-version"], { stdio: "ignore" });
  if (status !== 0) return `the recipe's Python packages are not installed: ${stderr?.trim()}`;
  return ffmpegStatus !== 0 && "ffmpeg is not installed";
}

test("timbres, packed voices and float weights from the shipped graphs pass the recipe's checks", {
  skip: missingParts(),
}, () => {
  const { status, stderr } = spawnSync(PYTHON, ["-W", "ignore", "-m", "unittest", "test_people"], {
    cwd: RECIPE,
    encoding: "utf8",
    env: { ...process.env, OMP_NUM_THREADS: "1", PYTHONDONTWRITEBYTECODE: "1" },
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /Ran \d+ tests[\s\S]*OK/);
});

const MODEL = "models/svc-kk-ru-v2";
const FRAME_SAMPLES = 640;
const ROWS = 2;
const CHUNKS = [1, 2, 1, 7, 16, 1];

type Values = Readonly<Record<string, Tensor>>;

function zeros({ inputMetadata }: InferenceSession): Record<string, Tensor> {
  const states: Record<string, Tensor> = {};
  for (const { name, ...rest } of inputMetadata) {
    if (name === "pcm" || !rest.isTensor) continue;
    const size = Number(rest.shape[1]);
    const values = rest.type === "uint8" ? new Uint8Array(ROWS * size) : new Float32Array(ROWS * size);
    states[name] = new Tensor(values, [ROWS, size]);
  }
  return states;
}

function noise(length: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length }, (_, index) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state / 2 ** 31 - 1) * 0.3 * (1 + Math.sin(index / 900));
  });
}

async function streamed(graph: InferenceSession): Promise<Values[]> {
  let states = zeros(graph);
  const steps: Values[] = [];
  for (const [step, frames] of CHUNKS.entries()) {
    const samples = frames * FRAME_SAMPLES;
    const pcm = new Tensor(noise(ROWS * samples, step + 1), [ROWS, samples]);
    const values = await graph.run({ pcm, ...states });
    states = { state: values["next_state"]!, history: values["next_history"]! } as Record<string, Tensor>;
    steps.push(values as Values);
  }
  return steps;
}

async function refined(graph: InferenceSession): Promise<Values[]> {
  const input = graph.inputMetadata.find(({ name }) => name === "encoded");
  assert.ok(input?.isTensor);
  const size = Number(input.shape[2]);
  const frames = 30;
  const mask = new Float32Array(ROWS * frames).fill(1);
  mask.fill(0, frames + 20);
  const encoded = new Tensor(noise(ROWS * frames * size, 9), [ROWS, frames, size]);
  return [(await graph.run({ encoded, mask: new Tensor(mask, [ROWS, frames]) })) as Values];
}

test("the shipped graphs give the same numbers as their plain form", { skip: missingParts() }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "recipe-"));
  try {
    for (const [file, run] of [
      ["stream.onnx", streamed],
      ["full.onnx", refined],
    ] as const) {
      const plain = join(folder, file);
      const args = ["fewer_nodes.py", "plain", join("../../svc-kk-ru-v2", file), plain];
      const { status, stderr } = spawnSync(PYTHON, args, { cwd: RECIPE, encoding: "utf8" });
      assert.equal(status, 0, stderr);
      const [before, after] = await Promise.all(
        [plain, join(MODEL, file)].map(async (path) =>
          run(await InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 })),
        ),
      );
      assert.deepEqual(
        after!.map((values) => Object.entries(values).map(([name, { data }]) => [name, data])),
        before!.map((values) => Object.entries(values).map(([name, { data }]) => [name, data])),
      );
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
