// Builds the image and runs it once, without a Docker daemon: `node scripts/image.mjs` (root, Debian, network). A Debian 13
// with npm's Node 24 stands in for the Node image, buildah builds in a chroot, and the service in it speaks and
// transcribes as its own user. Prints one line of JSON. `--keep` leaves the images where buildah has them.
import { execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bootstrapDebian13, installMissing } from "./runtimes/debian-13.mjs";
import { fetchNodes, nodePath } from "./runtimes/nodes.mjs";

const root = fileURLToPath(new URL("../", import.meta.url));
const BASE = "localhost/node:24-trixie-slim";
const IMAGE = "localhost/dauys:tried";
const BASE_FOLDER = join(root, ".cache/image/base");
const USER = "10001:10001";
const SENTENCE = "Сәлеметсіз бе! Бүгін күн жылы.";
const HEALTHY_WITHIN_MS = 300_000;
const LOOK_EVERY_MS = 500;
/** For data of containers, apart from those of the machine's own. */
const STORAGE = ["--root", join(root, ".cache/image/storage"), "--storage-driver", "vfs"];

installMissing("buildah");
const builtMs = build();
const figures = await tryImage();
console.log(JSON.stringify({ ...builtMs, ...figures }));
if (!process.argv.includes("--keep"))
  rmSync(join(root, ".cache/image/storage"), { recursive: true, force: true });

function build() {
  const baseMs = timed(() => {
    if (!existsSync(BASE_FOLDER)) makeBase();
    const container = buildah("from", "scratch").trim();
    buildah("add", "--quiet", container, BASE_FOLDER, "/");
    buildah("commit", "--quiet", "--rm", container, BASE);
  });
  const options = [
    "--isolation",
    "chroot",
    "--pull-never",
    "--build-arg",
    `NODE_IMAGE=${BASE}`,
    "--format",
    "docker",
  ];
  const imageMs = timed(() => buildah("bud", ...options, "--tag", IMAGE, root));
  const [{ size }] = JSON.parse(buildah("images", "--json", IMAGE));
  return { baseMs, imageMs, size };
}

/** What the Node image is made of, and this machine's word on whom to trust, for networks that have a certificate of their own. */
function makeBase() {
  fetchNodes([24]);
  bootstrapDebian13(BASE_FOLDER, ["libstdc++6", "libatomic1", "ca-certificates"], ["--variant=minbase"]);
  const package24 = dirname(dirname(nodePath(24)));
  for (const name of ["bin", "include", "share"])
    cpSync(join(package24, name), join(BASE_FOLDER, "usr/local", name), { recursive: true });
  const npm = execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim();
  cpSync(join(npm, "npm"), join(BASE_FOLDER, "usr/local/lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(BASE_FOLDER, "usr/local/bin", name));
  const trusted = process.env.NODE_EXTRA_CA_CERTS;
  if (trusted === undefined) return;
  mkdirSync(join(BASE_FOLDER, "usr/local/etc"), { recursive: true });
  cpSync(trusted, join(BASE_FOLDER, "usr/local/etc/trusted.pem"), { dereference: true });
  writeFileSync(join(BASE_FOLDER, "usr/local/etc/npmrc"), "cafile=/usr/local/etc/trusted.pem\n");
}

async function tryImage() {
  const container = buildah("from", "--pull-never", IMAGE).trim();
  const port = await freePort();
  const operatorPort = await freePort();
  const env = [
    ...["HOST=127.0.0.1", `PORT=${port}`, "OPERATOR_HOST=127.0.0.1", `OPERATOR_PORT=${operatorPort}`],
    "DATA_DIR=/data",
  ].flatMap((value) => ["--env", value]);
  const run = ["run", "--isolation", "chroot", "--user", USER, "--workingdir", "/opt/dauys"];
  const startedAtMs = performance.now();
  const service = spawn(
    "buildah",
    [...STORAGE, ...run, ...env, container, "--", "node", "dist/src/main.js"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let output = "";
  service.stdout.on("data", (bytes) => (output += bytes));
  const ended = new Promise((resolve) => service.once("exit", resolve));
  try {
    await healthy(`http://127.0.0.1:${port}/health`, service, () => output);
    const healthyMs = Math.round(performance.now() - startedAtMs);
    const inside = async (...command) => {
      const at = [`--env=DAUYS_URL=http://127.0.0.1:${port}`, `--env=OPERATOR_PORT=${operatorPort}`];
      return (await promisify(execFile)("buildah", [...STORAGE, ...run, ...at, container, "--", ...command]))
        .stdout;
    };
    await inside("node", "deploy/health.mjs");
    const key = (await inside("cat", "/data/dev-key")).trim();
    const dauys = (...args) => inside("env", `DAUYS_API_KEY=${key}`, "node", "bin/dauys.js", ...args);
    await dauys("speak", SENTENCE, "-o", "/tmp/said.wav");
    const heard = (await dauys("transcribe", "/tmp/said.wav")).trim();
    const front = /^Front: (.*)$/m.exec(output)?.[1];
    const user = (await inside("id", "--user")).trim();
    const main = processOf(port);
    process.kill(main, "SIGTERM");
    return { healthyMs, user, front, heard, exitCode: await ended };
  } catch (error) {
    service.kill("SIGTERM");
    console.error(output);
    throw error;
  }
}

/** buildah does not hand signals on: the service itself is told. */
function processOf(port) {
  const line = execFileSync("ss", ["-Hltnp", `sport = :${port}`], { encoding: "utf8" });
  return Number(/pid=(\d+)/.exec(line)[1]);
}

async function healthy(url, service, output) {
  const deadlineMs = performance.now() + HEALTHY_WITHIN_MS;
  while (performance.now() < deadlineMs) {
    if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}`);
    const answer = await fetch(url).catch(() => null);
    await answer?.body?.cancel();
    // The banner comes once everything is up.
    if (answer?.ok && /^Front: /m.test(output())) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`the service was not healthy within ${HEALTHY_WITHIN_MS} ms`);
}

function buildah(...args) {
  return execFileSync("buildah", [...STORAGE, ...args], {
    encoding: "utf8",
    stdio: ["ignore", args[0] === "bud" ? 2 : "pipe", "inherit"],
    maxBuffer: 2 ** 26,
  });
}

function timed(work) {
  const startedAtMs = performance.now();
  work();
  return Math.round(performance.now() - startedAtMs);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
