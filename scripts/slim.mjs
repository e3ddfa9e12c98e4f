// For an image, after the build and `npm prune --omit=dev`: deletes files that the service never loads on
// this platform: binaries of the native front and of onnxruntime for other platforms and versions of Node,
// the TypeScript compiler, sources, and build files of the beam search.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
const { platform, arch, versions } = process;
const packages = join(root, "node_modules");

for (const name of ["uws-repack", "uws-fork", "uWebSockets.js"]) {
  const mine = `uws_${platform}_${arch}_${versions.modules}.node`;
  // Matches files such as `uws_linux_x64_137.node`, in the package's root or in a folder.
  for (const path of filesOf(join(packages, name))) {
    const file = basename(path);
    if (file.startsWith("uws_") && file.endsWith(".node") && file !== mine) rmSync(path);
  }
}
const runtimes = join(packages, "onnxruntime-node/bin/napi-v6");
for (const system of foldersOf(runtimes))
  for (const processor of foldersOf(join(runtimes, system)))
    if (system !== platform || processor !== arch)
      rmSync(join(runtimes, system, processor), { recursive: true });

for (const path of [
  ...["node_modules/oxc-transform", "node_modules/@oxc-transform"],
  ...["src", "actors", "core", "native/beam/build/Release/obj.target"],
])
  rmSync(join(root, path), { recursive: true, force: true });

function filesOf(folder) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function foldersOf(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}
