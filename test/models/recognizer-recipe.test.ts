import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

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
