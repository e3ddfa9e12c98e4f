// What `npm ci` runs last: compiles the native beam search with the node-gyp that npm carries. Without a compiler the
// installation succeeds all the same, and the service searches in TypeScript. With `--if-stale`, as every start and build run
// it, only when its sources have changed since: an addon from before a pull may not read the models that came with it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../native/beam/", import.meta.url));
if (process.argv.includes("--if-stale") && !isStale()) process.exit(0);
const nodeRoot = dirname(dirname(process.execPath));

const nodeGyp = process.env.npm_config_node_gyp;
const [command, ...first] = nodeGyp === undefined ? ["node-gyp"] : [process.execPath, nodeGyp];
// Headers beside the running node spare the download of the same ones.
const headers = existsSync(join(nodeRoot, "include/node/node_api.h")) ? [`--nodedir=${nodeRoot}`] : [];
const built = spawnSync(command, [...first, "rebuild", ...headers], { cwd: folder, encoding: "utf8" });
if (built.status === 0) {
  console.log("native beam search: built");
} else {
  const output = `${built.error?.message ?? ""}${built.stdout ?? ""}${built.stderr ?? ""}`.trim();
  console.warn(output.split("\n").slice(-12).join("\n"));
  console.warn(
    "native beam search: not built, see above. It needs a C++17 compiler, make and Python 3\n" +
      "(apt-get install g++ make python3), then: npm run build-native\n" +
      "The service works without it: the same search runs in TypeScript, at a higher cost per final.",
  );
}

/** Older than one of its sources. One that was never built was told about when it was not. */
function isStale() {
  const built = join(folder, "build/Release/beam.node");
  if (!existsSync(built)) return false;
  const builtAtMs = statSync(built).mtimeMs;
  const sources = readdirSync(folder).filter((name) => /\.(cc|h|gyp)$/.test(name));
  return sources.some((name) => statSync(join(folder, name)).mtimeMs > builtAtMs);
}
