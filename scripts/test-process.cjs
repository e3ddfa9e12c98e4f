// Loaded by every process that tests start; only in those that the runner starts does it do anything. A file that ends its
// process before its tests are over has failed, whatever its exit code; and what a test leaves open, an interval or a server,
// does not hold its file, and all that share the process, until the runner's limit. For `--cpu` it notes what its file took.
"use strict";
const { appendFileSync, readFileSync } = require("node:fs");

/** Far longer than hooks of a file take that end its services. */
const LEFT_OPEN_MS = Number(process.env["TEST_LEFT_OPEN_MS"] ?? 180_000);

const TICKS_PER_SECOND = 100;

const isOfRunner = process.env["TEST_RUNNER_PID"] === String(process.ppid);
const cpuFile = process.env["TEST_CPU_FILE"];
// What a test file starts, a thread or the same file in another part, has no tests.
for (const name of ["TEST_RUNNER_PID", "TEST_CPU_FILE"]) delete process.env[name];
if (isOfRunner) watch();

function watch() {
  let isOver = false;
  require("node:test").after(() => {
    isOver = true;
    setTimeout(() => {
      fail(
        `left open, ${LEFT_OPEN_MS} ms after the last test: ${process.getActiveResourcesInfo().join(", ")}`,
      );
      process.exit();
    }, LEFT_OPEN_MS).unref();
  });
  process.on("exit", (code) => {
    if (!isOver && code === 0) fail("the process was ended before its tests were over");
    if (cpuFile !== undefined) noteCpu(cpuFile);
  });
}

/** For `--cpu`: CPU seconds of this process and of those that it has started and seen the end of. */
function noteCpu(path) {
  const { user, system } = process.cpuUsage();
  // The state is the first field behind the name, which may hold anything; then the tenth and eleventh of time are children's.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  const children = (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  appendFileSync(
    path,
    `${JSON.stringify({ file: process.argv[1], seconds: (user + system) / 1e6 + children })}\n`,
  );
}

function fail(message) {
  process.stderr.write(`${process.argv[1]}: ${message}\n`);
  process.exitCode = 1;
}
