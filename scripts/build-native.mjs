// The last step of `npm ci`: compiles the native beam search with npm's node-gyp. Without a compiler the
// installation still succeeds, and the service searches in TypeScript. With `--if-stale`, as in every start
// and build, it compiles only if the sources have changed: an addon from before a pull may not read models
// that came with the pull.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../native/beam/", import.meta.url));
if (process.argv.includes("--if-stale") && !isStale()) process.exit(0);
const nodeRoot = dirname(dirname(process.execPath));

const nodeGyp = process.env.npm_config_node_gyp;
const [command, ...first] = nodeGyp === undefined ? ["node-gyp"] : [process.execPath, nodeGyp];
// Headers next to the running Node save a download.
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

/**
 * Returns whether the addon is older than a source. If it was never built, `npm ci` has already reported
 * that.
 */
function isStale() {
  const built = join(folder, "build/Release/beam.node");
  if (!existsSync(built)) return false;
  const builtAtMs = statSync(built).mtimeMs;
  const sources = readdirSync(folder).filter((name) => /\.(cc|h|gyp)$/.test(name));
  return sources.some((name) => statSync(join(folder, name)).mtimeMs > builtAtMs);
}
