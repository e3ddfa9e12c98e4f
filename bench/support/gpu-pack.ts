import { execFileSync } from "node:child_process";
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readManifest } from "../../native/models/find-packages.js";
import { packageFiles } from "../../native/models/package-files.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Programs to run on that machine; their imports are included. */
const PROGRAMS = [
  "dist/bench/main.js",
  "dist/bench/micro/gpu.js",
  "dist/bench/micro/device-tuning.js",
  "dist/native/devices/trial-process.js",
];
const MODELS = ["models/svc-kk-v1", "models/svc-kk-ru-v2"];
/**
 * Name of the runtime's package, which contains libraries for every platform, and packages that only its
 * installation needs.
 */
const RUNTIME = "onnxruntime-node";
const IMPORTS = /(?:\bfrom\s+|\bimport\s+|\bimport\()"([^"]+)"/g;

const START = `#!/bin/sh
# ./bench-gpu [options of the bench]: what \`npm run bench -- gpu\` does, without npm. Results are in bench/results.
cd "$(dirname "$0")"
[ -d runtime ] && export LD_LIBRARY_PATH="$PWD/runtime\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
name=gpu
[ "\${1:-}" = device-tuning ] && { name=device-tuning; shift; }
exec ./node dist/bench/main.js $name "$@"
`;

/**
 * Writes node, the runtime, the shipped graphs and this bench into one file, compressed according to
 * its extension.
 *
 * @param runtime a folder with libonnxruntime.so.1 and its CUDA provider, of the release of onnxruntime-node;
 *   null for none
 */
export async function packBench(file: string, runtime: string | null): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-gpu-pack-"));
  try {
    const { files, packages } = await importsOf(PROGRAMS);
    for (const path of [...files, "package.json"]) await put(path, folder);
    for (const name of packages) await putPackage(name, folder);
    for (const model of MODELS) await putModel(model, folder);
    if (runtime !== null) await cp(resolve(runtime), join(folder, "runtime"), { recursive: true });
    await put("bench/peer/torch_limit.py", folder);
    await copyFile(process.execPath, join(folder, "node"));
    await writeFile(join(folder, "bench-gpu"), START);
    await chmod(join(folder, "bench-gpu"), 0o755);
    const target = resolve(file);
    execFileSync("tar", ["--auto-compress", "-cf", target, "--owner=0", "--group=0", "-C", folder, "."]);
    const { size } = await stat(target);
    console.log(`${target}: ${(size / 1e6).toFixed(1)} MB. There: tar xf, then ./bench-gpu --providers cuda`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Collects our files and the packages that these programs import, directly or not. */
async function importsOf(programs: readonly string[]) {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [...programs];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    for (const [, specifier = ""] of (await readFile(join(ROOT, path), "utf8")).matchAll(IMPORTS)) {
      if (specifier.startsWith(".")) waiting.push(join(dirname(path), specifier));
      else if (!specifier.startsWith("node:")) packages.add(packageOf(specifier));
    }
  }
  return { files, packages };
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

async function putPackage(name: string, folder: string): Promise<void> {
  const from = join("node_modules", name);
  if (name !== RUNTIME) return await cp(join(ROOT, from), join(folder, from), { recursive: true });
  await put(join(from, "package.json"), folder);
  // There is one folder, named after the Node-API version that it was built for.
  const [binding = ""] = await readdir(join(ROOT, from, "bin"));
  for (const part of ["dist", join("bin", binding, process.platform, process.arch)]) {
    await cp(join(ROOT, from, part), join(folder, from, part), { recursive: true });
  }
  await putPackage("onnxruntime-common", folder);
}

async function putModel(model: string, folder: string): Promise<void> {
  const manifest = await readManifest(join(ROOT, model));
  // Runs of graphs need no language model.
  const needed = packageFiles(manifest?.files ?? {}).filter(({ path }) => /\.(?:onnx|json)$/.test(path));
  for (const path of ["manifest.json", ...needed.map((file) => file.path)])
    await put(join(model, path), folder);
}

async function put(path: string, folder: string): Promise<void> {
  const to = join(folder, path);
  await mkdir(dirname(to), { recursive: true });
  await copyFile(join(ROOT, path), to);
}
