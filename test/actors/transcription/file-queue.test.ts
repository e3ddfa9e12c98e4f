import assert from "node:assert/strict";
import { test } from "node:test";
import { FileQueue } from "../../../actors/transcription/file-queue.js";
import type { FileRun } from "../../../actors/transcription/file-run.js";
import { asServiceError, ServiceError } from "../../../core/domain/errors.js";
import type { FileTask } from "../../../native/threads/protocol.js";
import { settled } from "../../support/deferred.js";
import * as fc from "../../support/properties.js";
import { SILENT } from "../../support/silent-log.js";
import {
  expectedTexts,
  expectedTurns,
  fakePool,
  fileOf,
  filesOf,
  isInterrupted,
  pathOf,
  runOf,
  speakersOf,
} from "./fake-pool.js";

const anyFile = fc.array(fc.nat(900), { minLength: 1, maxLength: 8 });

test("any order of workers and any single death keep a file's pieces in order and its progress growing to 1", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyFile, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat(1_000)),
      async (lengths, workerCount, forgets, choices) => {
        const files = lengths.map((of, nth) => fileOf(String(nth), of));
        const { running, pool } = fakePool(files, workerCount);
        const queue = new FileQueue(pool, SILENT);
        const shares = files.map(() => [0]);
        const runs = files.map((file, nth) => runOf(file, forgets, (share) => shares[nth]!.push(share)));
        for (const run of runs) queue.add(run);
        const lostOnce = new Set<FileTask>();
        while (runs.some(({ isOver }) => !isOver)) {
          assert.ok(running.length > 0 && running.length <= workerCount, `${running.length} at work`);
          const held = runs.reduce((sum, run) => sum + (run.isOver ? 0 : run.heldParts), 0);
          assert.ok(held <= 4 * workerCount + 12 + runs.length, `${held} parts held`);
          const choice = choices.next().value;
          const chosen = running[choice % running.length]!;
          const isLost = choice % 7 === 0 && lostOnce.size === 0;
          if (isLost) lostOnce.add(chosen.task);
          chosen.settle(isLost);
          await settled();
        }
        for (const [nth, run] of runs.entries()) {
          const texts = (await run.segments).map(({ text }) => text);
          assert.deepEqual(texts, expectedTexts(files[nth]!));
          const told = shares[nth]!;
          assert.ok(
            told.every((share, at) => share >= (told[at - 1] ?? 0)) && told.at(-1) === 1,
            String(told),
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("the words and speakers of jobs are interrupted by others, and still found without a gap", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyFile, { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat(1_000)),
      async (lengths, workerCount, forgets, choices) => {
        const files = lengths.map((of, nth) => fileOf(String(nth), of));
        const { running, pool } = fakePool(files, workerCount);
        const queue = new FileQueue(pool, SILENT);
        // The first files are jobs. The others arrive one by one while those are being transcribed.
        const runs = files.map((file, nth) => runOf(file, forgets, undefined, nth < 2));
        const speakers = files.map((file, nth) => speakersOf(file, nth < 2));
        const both = files.flatMap((_, nth) => [runs[nth]!, speakers[nth]!]);
        for (const run of both.slice(0, 4)) queue.add(run);
        const arriving = both.slice(4);
        while (both.some(({ isOver }) => !isOver)) {
          const choice = choices.next().value;
          const next = choice % 3 === 0 || running.length === 0 ? arriving.shift() : undefined;
          const leave = next !== undefined && choice % 2 === 0 ? queue.makeWay("added") : () => {};
          if (next !== undefined) queue.add(next);
          else running[choice % running.length]!.settle();
          leave();
          await settled();
        }
        for (const [nth, run] of runs.entries()) {
          const texts = (await run.segments).map(({ text }) => text);
          assert.deepEqual(texts, expectedTexts(files[nth]!));
          assert.deepEqual(await speakers[nth]!.turns, expectedTurns(files[nth]!));
        }
      },
    ),
    { numRuns: 60 },
  );
});

for (const kind of ["words", "speakers"] as const)
  test(`with one worker the ${kind} of a job get no task until the words and speakers of a request are done`, async () => {
    const job = fileOf("job", new Array<number>(60).fill(300));
    const request = fileOf("request", new Array<number>(20).fill(100));
    const { running, pool } = fakePool([job, request], 1);
    const queue = new FileQueue(pool, SILENT);
    const later = kind === "words" ? runOf(job, true, undefined, true) : speakersOf(job, true);
    const first = [runOf(request, true), speakersOf(request)];
    queue.add(later);
    for (const run of first) queue.add(run);
    assert.ok(isInterrupted(running[0]!.task), "the job's task is told to stop");
    running[0]!.settle();
    await settled();
    const tasks: FileTask[] = [];
    while (first.some(({ isOver }) => !isOver)) {
      tasks.push(running[0]!.task);
      running[0]!.settle();
      await settled();
    }
    assert.deepEqual([...new Set(tasks.flatMap(filesOf))], ["request"]);
    assert.ok(tasks.some(({ type }) => type === "group-speakers"));
    assert.equal(later.isOver, false);
    while (!later.isOver) {
      running[0]!.settle();
      await settled();
    }
  });

test("a job makes way for a file that is expected, and goes on without a gap if none comes", async () => {
  const file = fileOf("job", new Array<number>(20).fill(300));
  const { running, pool } = fakePool([file], 2);
  const queue = new FileQueue(pool, SILENT);
  const run = runOf(file, false, undefined, true);
  queue.add(run);
  const leaving = [queue.makeWay("added"), queue.makeWay("received")];
  assert.deepEqual(
    running.map(({ task }) => isInterrupted(task)),
    [true],
  );
  running[0]!.settle();
  await settled();
  for (const leave of [leaving[0]!, leaving[0]!]) {
    leave();
    assert.equal(running.length, 0, "another file is still expected");
  }
  leaving[1]!();
  assert.deepEqual(
    running.map(({ task }) => isInterrupted(task)),
    [false],
  );
  while (!run.isOver) {
    running[0]!.settle();
    await settled();
  }
  const texts = (await run.segments).map(({ text }) => text);
  assert.deepEqual(texts, expectedTexts(file));
});

for (const [workerCount, leftToJobs] of [
  [2, 0],
  [4, 2],
] as const)
  test(`of ${workerCount} workers, jobs get at most ${leftToJobs} while a request is in progress`, async () => {
    const files = [
      fileOf("job", new Array<number>(60).fill(300)),
      fileOf("request", new Array<number>(3).fill(300)),
    ];
    const { running, pool } = fakePool(files, workerCount);
    const queue = new FileQueue(pool, SILENT);
    const [job, request] = [runOf(files[0]!, true, undefined, true), runOf(files[1]!, true)];
    const jobTasks = () => running.filter(({ task }) => filesOf(task).includes("job"));
    queue.add(job);
    assert.equal(jobTasks().length, workerCount - 1, "one is left to a request that may come");
    queue.add(request);
    for (const interrupted of jobTasks()) interrupted.settle();
    await settled();
    while (!request.isOver) {
      assert.ok(jobTasks().length <= leftToJobs, `${jobTasks().length} tasks of the job`);
      running.find(({ task }) => filesOf(task).includes("request"))!.settle();
      await settled();
    }
    assert.ok(jobTasks().length > 0, "the job goes on");
    queue.giveUp(job, new ServiceError("CANCELLED", "the end"));
    for (const left of [...running]) left.settle();
    await assert.rejects(job.segments);
  });

for (const [jobs, interrupted] of [
  [[60], 1],
  [[10, 10, 10], 1],
] as const)
  test(`of 4 workers, one is freed while a file is received, though ${jobs.length} of 3 jobs run`, async () => {
    const files = jobs.map((pauses, nth) => fileOf(`job ${nth}`, new Array<number>(pauses).fill(300)));
    const { running, pool } = fakePool(files, 4);
    const queue = new FileQueue(pool, SILENT);
    const runs = files.map((file) => runOf(file, true, undefined, true));
    for (const run of runs) queue.add(run);
    const stopped = () => running.filter(({ task }) => isInterrupted(task));
    assert.equal(running.length, 3);
    const leave = queue.makeWay("received");
    assert.equal(stopped().length >= interrupted, true);
    assert.equal(new Set(stopped().flatMap(({ task }) => filesOf(task))).size, 1, "the others go on");
    for (const each of stopped()) each.settle();
    await settled();
    assert.equal(running.length, 2);
    leave();
    assert.equal(running.length, 3);
    for (const run of runs) queue.giveUp(run, new ServiceError("CANCELLED", "the end"));
    for (const left of [...running]) left.settle();
    for (const run of runs) await assert.rejects(run.segments);
  });

test("speakers take only workers with a model, and those of a job one if they cannot be interrupted", async () => {
  const long = fileOf("long", new Array<number>(20).fill(300));
  const typesOf = (running: ReturnType<typeof fakePool>["running"]) => running.map(({ task }) => task.type);
  const some = fakePool([long], 4, { speakerWorkerCount: 2 });
  const mixed = new FileQueue(some.pool, SILENT);
  mixed.add(speakersOf(long));
  assert.deepEqual(typesOf(some.running), ["hear-speakers", "hear-speakers"]);
  mixed.add(runOf(long, true));
  assert.deepEqual(typesOf(some.running).slice(2), ["hear", "hear"]);
  const nodes = fakePool([long], 4, { gaveUp: () => {} });
  const remote = new FileQueue(nodes.pool, SILENT);
  remote.add(speakersOf(long, true));
  assert.deepEqual(typesOf(nodes.running), ["hear-speakers"]);
  remote.add(speakersOf(long));
  assert.equal(isInterrupted(nodes.running[0]!.task), false, "it ends first");
  assert.equal(nodes.running.length, 4);
});

test("abandoned speakers reject once no worker is busy with them, whatever their tasks answer", async () => {
  const file = fileOf("0", new Array<number>(20).fill(300));
  for (const isGrouping of [false, true]) {
    const { running, pool } = fakePool([file], 2);
    const queue = new FileQueue(pool, SILENT);
    const run = speakersOf(file);
    const outcome = run.turns.catch((error: unknown) => asServiceError(error).code);
    queue.add(run);
    while (isGrouping && running[0]!.task.type !== "group-speakers") {
      running[0]!.settle();
      await settled();
    }
    queue.giveUp(run, new ServiceError("CANCELLED", "no"));
    assert.equal(run.isOver, false);
    while (running.length > 0) running[0]!.settle();
    await settled();
    assert.ok(run.isOver);
    assert.equal(await outcome, "CANCELLED");
  }
});

test("speakers whose task loses its worker twice fail", async () => {
  const file = fileOf("0", [20, 100]);
  const { running, pool } = fakePool([file], 1);
  const queue = new FileQueue(pool, SILENT);
  const run = speakersOf(file);
  queue.add(run);
  for (let attempt = 1; attempt <= 2; attempt++) {
    running[0]!.settle(true);
    await settled();
  }
  await assert.rejects(run.turns, { code: "WORKER_LOST" });
  assert.equal(running.length, 0);
});

test("files take turns, and a short one does not wait for the end of a long one", async () => {
  const long = fileOf("long", new Array<number>(60).fill(300));
  const short = fileOf("short", [20, 100, 20]);
  const { running, pool } = fakePool([long, short], 1);
  const queue = new FileQueue(pool, SILENT);
  const runs = [runOf(long, true), runOf(short, true)];
  for (const run of runs) queue.add(run);
  let tasks = 0;
  for (; !runs[1]!.isOver; tasks++) {
    running[0]!.settle();
    await settled();
  }
  assert.equal(runs[0]!.isOver, false);
  assert.ok(tasks <= 5, `${tasks} tasks`);
});

test("a task that loses its worker twice fails only its own file, however its pieces were batched", async () => {
  // Two parts each, so that both are encoded before pieces of either one are decoded.
  const files = ["0", "1"].map((name) => fileOf(name, [20, 100, 40, 100, 140]));
  const { running, pool } = fakePool(files, 1);
  const queue = new FileQueue(pool, SILENT);
  const runs = files.map((file) => runOf(file, true));
  const outcomes = runs.map(({ segments }) => segments.catch((error: unknown) => asServiceError(error).code));
  for (const run of runs) queue.add(run);
  let shared = 0;
  while (runs.some(({ isOver }) => !isOver)) {
    const { task, settle } = running[0]!;
    const pieces = task.type === "decode" ? task.pieces : [];
    if (new Set(pieces.map(({ source }) => pathOf(source))).size > 1) shared++;
    settle(pieces.some(({ source }) => pathOf(source) === "0"));
    await settled();
  }
  assert.ok(shared > 0, "pieces of both files shared a task");
  assert.equal(await outcomes[0], "WORKER_LOST");
  assert.deepEqual(
    ((await outcomes[1]) as readonly { text: string }[]).map(({ text }) => text),
    expectedTexts(files[1]!),
  );
});

test("an abandoned file settles and frees its turn once no worker is busy with it", async () => {
  const files = [fileOf("0", new Array<number>(40).fill(300)), fileOf("1", [20, 100, 20])];
  const { running, pool } = fakePool(files, 1);
  const queue = new FileQueue(pool, SILENT);
  const [given, other] = files.map((file) => runOf(file, true)) as [FileRun, FileRun];
  const outcome = given.segments.catch((error: unknown) => asServiceError(error).code);
  queue.add(given);
  queue.giveUp(given, new ServiceError("CANCELLED", "no"));
  queue.add(other);
  assert.equal(given.isOver, false);
  running[0]!.settle();
  await settled();
  assert.equal(given.isOver, true);
  assert.equal(await outcome, "CANCELLED");
  while (!other.isOver) {
    running[0]!.settle();
    await settled();
  }
  assert.equal(running.length, 0);
});
