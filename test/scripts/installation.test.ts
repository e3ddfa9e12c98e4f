import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const requireHere = createRequire(import.meta.url);

test("npm does not warn about our settings", () => {
  // The settings of the user and the machine are left out, because they may contain names that npm no longer
  // accepts.
  const settings = [
    "--userconfig=/nowhere/user",
    "--globalconfig=/nowhere/global",
    "--update-notifier=false",
  ];
  const { status, stderr } = spawnSync("npm", ["pkg", "get", "name", ...settings], {
    cwd: ROOT,
    encoding: "utf8",
    env: environmentWithout(/^npm_config_/i),
  });
  assert.deepEqual([stderr, status], ["", 0]);
});

test("installing onnxruntime-node downloads nothing more", () => {
  const runtime = requireHere.resolve("onnxruntime-node/script/install.js");
  const standIn = createRequire(runtime).resolve("global-agent");
  assert.equal(realpathSync(standIn), `${ROOT}scripts/no-download/index.js`);
  const refuseRequests = `data:text/javascript,${encodeURIComponent(
    'import https from "node:https"; https.get = (url) => { console.log("asks " + url); process.exit(9); };',
  )}`;
  const install = (environment: Record<string, string>) =>
    spawnSync(process.execPath, ["--import", refuseRequests, runtime], {
      encoding: "utf8",
      env: { ...environmentWithout(/onnxruntime_node_install|npm_/i), ...environment },
    });
  const { status, stdout, stderr } = install({});
  assert.deepEqual([stdout, stderr, status], ["", "", 0]);
  // An explicit request to download is honoured.
  assert.match(install({ ONNXRUNTIME_NODE_INSTALL: "true" }).stdout, /^asks https:/);
});

function environmentWithout(names: RegExp): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.test(name)));
}
