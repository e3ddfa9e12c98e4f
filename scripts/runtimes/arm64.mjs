// Tests arm64 without such a machine: Node for arm64 under qemu's user-mode emulation.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { extract, installMissing } from "./debian-13.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const here = fileURLToPath(new URL("./", import.meta.url));
const FOLDER = join(root, ".cache/runtimes/arm64");
const CHECKOUT = join(FOLDER, "checkout");
const LIBRARIES = ["libc6", "libstdc++6", "libgcc-s1", "libatomic1"];
/** Tests to run, and the parts of the checkout that they need. */
const TESTS = ["native-beam-search", "native-resample"];
const LINKED = ["node_modules", "models", "test", "actors", "core", "src", "package.json"];
/** Environment of the tests; emulation is about 30 times slower. */
const ENVIRONMENT = { BEAM_RUNS: "40" };
const WITHIN_MS = 590_000;
/** Same as in binding.gyp. */
const FLAGS = [
  ...["-shared", "-fPIC", "-std=c++17", "-O3", "-ffp-contract=off", "-fvisibility=hidden", "-fexceptions"],
  ...["-DNAPI_VERSION=8", "-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS", "-DNAPI_CPP_EXCEPTIONS"],
];

/** @returns {number} an exit code */
export function tryArm64() {
  if (process.platform !== "linux" || process.getuid() !== 0) {
    console.log("skipped: fetching packages of another architecture requires root on Linux");
    return 0;
  }
  prepare();
  layOut();
  let code = 0;
  for (const [program, ...args] of programs()) {
    const run = [
      "-L",
      join(FOLDER, "libraries"),
      join(FOLDER, "node_modules/node-24/bin/node"),
      program,
      ...args,
    ];
    const { status } = spawnSync(join(FOLDER, "qemu/usr/bin/qemu-aarch64"), run, {
      cwd: CHECKOUT,
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ["ignore", "inherit", "inherit"],
      timeout: WITHIN_MS,
    });
    if (status !== 0) code = 1;
    console.log(`${program}: ${status === 0 ? "good" : `ended with ${status}`}`);
  }
  return code;
}

function* programs() {
  yield ["scripts/runtimes/answer-once.mjs"];
  yield ["scripts/runtimes/int8-products.mjs"];
  for (const name of TESTS) yield [`dist/test/native/beam/${name}.test.js`];
}

/** Installs Debian 13's qemu (Debian 12's crashes in onnxruntime), arm64 libraries, Node and a compiler. */
function prepare() {
  mkdirSync(FOLDER, { recursive: true });
  installMissing("g++-aarch64-linux-gnu");
  const [qemu, libraries] = [join(FOLDER, "qemu"), join(FOLDER, "libraries")];
  if (!existsSync(qemu)) extract(qemu, ["qemu-user"]);
  if (!existsSync(libraries)) extract(libraries, LIBRARIES, ["--architectures=arm64"]);
  // The packages were not configured, so links in the root are missing.
  if (!existsSync(join(libraries, "lib"))) symlinkSync("usr/lib", join(libraries, "lib"));
  for (const name of ["package.json", "package-lock.json"])
    cpSync(join(here, "arm64", name), join(FOLDER, name));
  run("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--cpu=arm64", "--force"], FOLDER);
}

/** Creates a checkout whose addon is for arm64; other files are links to this one. */
function layOut() {
  rmSync(CHECKOUT, { recursive: true, force: true });
  const beam = join(CHECKOUT, "native/beam");
  mkdirSync(join(beam, "build/Release"), { recursive: true });
  for (const name of LINKED) symlinkSync(join(root, name), join(CHECKOUT, name));
  // Copy these, because modules look for the addon relative to their real path.
  for (const name of ["dist", "scripts"]) cpSync(join(root, name), join(CHECKOUT, name), { recursive: true });
  const sources = readdirSync(join(root, "native/beam")).filter((name) => name.endsWith(".cc"));
  const headers = ["node_modules/node-addon-api", ".cache/runtimes/arm64/node_modules/node-24/include/node"];
  const compile = [
    ...FLAGS,
    ...headers.flatMap((folder) => ["-I", join(root, folder)]),
    ...sources.map((name) => join(root, "native/beam", name)),
    ...["-o", join(beam, "build/Release/beam.node")],
  ];
  run("aarch64-linux-gnu-g++", compile, root);
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`${command} ended with ${status}`);
}
