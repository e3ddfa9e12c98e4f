// `npm start`: starts the service as a child process with the environment that it needs.
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../dist/src/main.js", import.meta.url));
/**
 * Signals that this process receives, and those that it sends to the service, which also stops when its
 * terminal closes.
 */
const FORWARDED = { SIGTERM: "SIGTERM", SIGINT: "SIGINT", SIGHUP: "SIGTERM" };
/** Under npm, Ctrl-C can arrive twice, from the terminal and from npm; an intended second one is later. */
const ECHO_MS = 500;

// The allocator reads this at process start; with it, the memory of released models returns to the system.
const env = { MALLOC_TRIM_THRESHOLD_: "131072", ...process.env };
const [file, ...args] = [...endWithParent(), process.execPath, main, ...process.argv.slice(2)];
// A separate process group: terminal signals arrive only here, and are forwarded once.
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

/** Returns a command prefix that stops the service if this process is killed, where the system has one. */
function endWithParent() {
  const prefix = ["setpriv", "--pdeathsig", "TERM"];
  const probe = process.platform === "linux" ? spawnSync(prefix[0], [...prefix.slice(1), "true"]) : null;
  return probe?.status === 0 ? prefix : [];
}
