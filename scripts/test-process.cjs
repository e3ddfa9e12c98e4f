// Loaded by every process that tests start; only in those that the runner starts does it do anything. A file that ends its
// process before its tests are over has failed, whatever its exit code; and what a test leaves open, an interval or a server,
// does not hold its file, and all that share the process, until the runner's limit.
"use strict";

/** Far longer than hooks of a file take that end its services. */
const LEFT_OPEN_MS = Number(process.env["TEST_LEFT_OPEN_MS"] ?? 180_000);

const isOfRunner = process.env["TEST_RUNNER_PID"] === String(process.ppid);
// What a test file starts, a thread or the same file in another part, has no tests.
delete process.env["TEST_RUNNER_PID"];
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
  });
}

function fail(message) {
  process.stderr.write(`${process.argv[1]}: ${message}\n`);
  process.exitCode = 1;
}
