// Builds the image and runs it once, without a Docker daemon: `node scripts/image.mjs` (root, Debian,
// network). A Debian 13 with npm's Node 24 replaces the Node image, and buildah builds in a chroot. The
// service in the image synthesizes and transcribes as its own user, first as one process, then as a gateway
// with an engine. Prints one line of JSON. `--keep` keeps the images in buildah's storage.
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
/** Storage separate from the machine's own containers. */
const STORAGE = ["--root", join(root, ".cache/image/storage"), "--storage-driver", "vfs"];

for (const program of ["buildah", "nats-server"]) installMissing(program);
const built = build();
const figures = await tryImage();
console.log(JSON.stringify({ ...built, ...figures, fleet: await tryFleet() }));
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

/** Builds a folder like the Node image, with this machine's CA certificates for networks that need them. */
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

/** Tests a single service. */
async function tryImage() {
  const service = await startContainer({});
  try {
    await service.inside("node", "deploy/health.mjs");
    const heard = await speakAndTranscribe(service);
    const user = (await service.inside("id", "--user")).trim();
    const { healthyMs } = service;
    return { healthyMs, user, front: service.front(), heard, exitCode: await service.stop() };
  } catch (error) {
    console.error(service.output());
    throw error;
  } finally {
    await service.stop();
  }
}

/** Tests a gateway and an engine from the image, connected by a NATS server on this machine. */
async function tryFleet() {
  const busPort = await freePort();
  const bus = spawn("nats-server", ["-a", "127.0.0.1", "-p", `${busPort}`], { stdio: "ignore" });
  const BUS_URL = `nats://127.0.0.1:${busPort}`;
  const started = [];
  try {
    for (const role of [
      { ROLE: "engine", BUS_URL },
      { ROLE: "gateway", BUS_URL, KEY_PEPPER: "a pepper for this one try" },
    ])
      started.push(await startContainer(role));
    const [engine, gateway] = started;
    const heard = await speakAndTranscribe(gateway);
    return { heard, exitCodes: { gateway: await gateway.stop(), engine: await engine.stop() } };
  } catch (error) {
    for (const container of started) console.error(container.output());
    throw error;
  } finally {
    for (const container of started) await container.stop();
    bus.kill();
  }
}

/** Starts the service in a new container as the image's user, and waits until it is ready. */
async function startContainer(settings) {
  const container = buildah("from", "--pull-never", IMAGE).trim();
  const port = await freePort();
  const operatorPort = await freePort();
  const env = Object.entries({
    HOST: "127.0.0.1",
    PORT: port,
    OPERATOR_HOST: "127.0.0.1",
    OPERATOR_PORT: operatorPort,
    DATA_DIR: "/data",
    ...settings,
  }).map(([name, value]) => `--env=${name}=${value}`);
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
  // An engine has only the operators' port.
  const listening = settings.ROLE === "engine" ? operatorPort : port;
  let stopped = null;
  const stop = () => {
    stopped ??= (async () => {
      const main = processOf(listening);
      if (main === null) service.kill("SIGTERM");
      else process.kill(main, "SIGTERM");
      return await ended;
    })();
    return stopped;
  };
  try {
    await answers(`http://127.0.0.1:${listening}/ready`, service);
  } catch (error) {
    await stop();
    console.error(output);
    throw error;
  }
  return {
    healthyMs: Math.round(performance.now() - startedAtMs),
    output: () => output,
    // The banner appears once everything is up.
    front: () => /^Front: (.*)$/m.exec(output)?.[1],
    inside: async (...command) => {
      const at = [`--env=DAUYS_URL=http://127.0.0.1:${port}`, `--env=OPERATOR_PORT=${operatorPort}`];
      return (await promisify(execFile)("buildah", [...STORAGE, ...run, ...at, container, "--", ...command]))
        .stdout;
    },
    stop,
  };
}

/** Returns the transcript of a synthesized sentence. */
async function speakAndTranscribe({ inside }) {
  const key = (await inside("cat", "/data/dev-key")).trim();
  const dauys = (...args) => inside("env", `DAUYS_API_KEY=${key}`, "node", "bin/dauys.js", ...args);
  await dauys("speak", SENTENCE, "-o", "/tmp/said.wav");
  return (await dauys("transcribe", "/tmp/said.wav")).trim();
}

/** Returns the process that listens on a port, or null: buildah does not forward signals to it. */
function processOf(port) {
  const line = execFileSync("ss", ["-Hltnp", `sport = :${port}`], { encoding: "utf8" });
  const [, pid = null] = /pid=(\d+)/.exec(line) ?? [];
  return pid === null ? null : Number(pid);
}

async function answers(url, service) {
  const deadlineMs = performance.now() + HEALTHY_WITHIN_MS;
  while (performance.now() < deadlineMs) {
    if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}`);
    const answer = await fetch(url).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`the service was not ready within ${HEALTHY_WITHIN_MS} ms`);
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
