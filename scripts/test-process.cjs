// Loaded by every process of a test run; active only in those that the runner starts. A file that ends its
// process before its tests are over fails, whatever its exit code. If a test leaves an interval, a server or
// a child process open, its process ends before the runner's limit, and sooner if a test has failed. With
// `--cpu`, records the CPU time of the file, and how long its process ran.
"use strict";
const { appendFileSync, existsSync, readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

/** Time after the last test; far longer than hooks need to stop the services of a file. */
const LEFT_OPEN_MS = Number(process.env["TEST_LEFT_OPEN_MS"] ?? 180_000);
/** A failed test often leaves its service running; hooks still get this long. */
const LEFT_OPEN_BY_FAILURE_MS = Number(process.env["TEST_LEFT_OPEN_BY_FAILURE_MS"] ?? 45_000);

const TICKS_PER_SECOND = 100;

const isOfRunner = process.env["TEST_RUNNER_PID"] === String(process.ppid);
const cpuFile = process.env["TEST_CPU_FILE"];
// Threads and child processes of a test file have no tests.
for (const name of ["TEST_RUNNER_PID", "TEST_CPU_FILE"]) delete process.env[name];
if (isOfRunner) watch();

function watch() {
  let isOver = false;
  let hasFailed = false;
  const { after, afterEach } = require("node:test");
  afterEach(({ passed }) => {
    hasFailed ||= passed === false;
  });
  after(() => {
    isOver = true;
    const limitMs = hasFailed ? LEFT_OPEN_BY_FAILURE_MS : LEFT_OPEN_MS;
    setTimeout(() => {
      fail(`left open, ${limitMs} ms after the last test: ${process.getActiveResourcesInfo().join(", ")}`);
      endChildren();
      process.exit();
    }, limitMs).unref();
  });
  process.on("exit", (code) => {
    if (!isOver && code === 0) fail("the process was ended before its tests were over");
    if (cpuFile !== undefined) noteCpu(cpuFile);
  });
}

/** Records the seconds of this process, and the CPU seconds of it and of its children that have ended. */
function noteCpu(path) {
  const { user, system } = process.cpuUsage();
  // After the name, which may contain spaces, fields 13 and 14 are the CPU time of children, in ticks.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ");
  const children = (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
  appendFileSync(
    path,
    `${JSON.stringify({ file: process.argv[1], seconds: (user + system) / 1e6 + children, elapsed: performance.now() / 1e3 })}\n`,
  );
}

/** Asks the children of this process to end, because nothing else will (Linux). */
function endChildren() {
  for (const id of childIds()) {
    try {
      process.kill(id, "SIGTERM");
    } catch {
      // The child has just ended.
    }
  }
}

function childIds() {
  const lists = `/proc/${process.pid}/task`;
  const threads = existsSync(lists) ? readdirSync(lists) : [];
  const texts = threads.map((thread) => {
    try {
      return readFileSync(join(lists, thread, "children"), "utf8");
    } catch {
      // The thread has just ended.
      return "";
    }
  });
  return (texts.join(" ").match(/\d+/g) ?? []).map(Number);
}

function fail(message) {
  process.stderr.write(`${process.argv[1]}: ${message}\n`);
  process.exitCode = 1;
}
