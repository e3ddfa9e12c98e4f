// What `npm start` runs: the service as a child of this process, in the environment it needs.
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../dist/src/main.js", import.meta.url));
/** What the service is told for what this process is told; a terminal that closes is a reason to stop as well. */
const FORWARDED = { SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGTERM" };
/** Ctrl-C under npm can arrive twice, from the terminal and from npm; a second one on purpose takes longer. */
const ECHO_MS = 500;

// Read by the allocator before a process starts: with it, memory of models that were released goes back to the system.
const env = { MALLOC_TRIM_THRESHOLD_: "131072", ...process.env };
const [file, ...args] = [...endWithParent(), process.execPath, main, ...process.argv.slice(2)];
// A process group of its own: signals of a terminal come here and are handed on once.
const child = spawn(file, args, { env, stdio: "inherit", detached: true });

let forwardedAtMs = Number.NEGATIVE_INFINITY;
for (const [received, sent] of Object.entries(FORWARDED)) {
  process.on(received, () => {
    if (performance.now() - forwardedAtMs < ECHO_MS) return;
    forwardedAtMs = performance.now();
    child.kill(sent);
  });
}

child.on("error", (error) => {
  console.error(`Cannot start the service: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
});

/** Where the system can, the service is told to stop even when this process is killed without a chance to tell it. */
function endWithParent() {
  const prefix = ["setpriv", "--pdeathsig", "TERM"];
  const probe = process.platform === "linux" ? spawnSync(prefix[0], [...prefix.slice(1), "true"]) : null;
  return probe?.status === 0 ? prefix : [];
}
