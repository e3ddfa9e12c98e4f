import assert from "node:assert/strict";
import { test } from "node:test";
import type { Provider } from "../../../core/domain/placement/provider.js";
import { ProviderError, type ProviderErrorKind } from "../../../core/domain/placement/provider-error.js";
import type { Placing } from "../../../native/threads/placing.js";
import { placingLog } from "../../support/device/placing-log.js";

function failure(provider: Provider, kind: ProviderErrorKind): ProviderError {
  return new ProviderError(provider, kind, "a test says so");
}

function serve(placing: Placing): void {
  placing.served(placing.placementOf(0));
}

test("devices are distributed over an engine's workers; a restarted worker keeps its device", () => {
  const { placing } = placingLog(["cuda", "webgpu"], [2, 5]);
  const devices = () => [0, 1, 2, 0].map((lane) => placing.placementOf(lane).device);
  assert.deepEqual(devices(), [2, 5, 2, 2]);
  placing.failed(failure("cuda", "lost"), "later");
  assert.deepEqual(devices(), [null, null, null, null]);
});

test("a provider that does not load is skipped, once for all workers of the engine", () => {
  const { placing, events } = placingLog(["cuda", "webgpu", "cpu"]);
  for (const kind of ["missing", "missing", "other"] as const)
    assert.ok(placing.failed(failure("cuda", kind), "at load"));
  assert.ok(placing.failed(failure("webgpu", "out-of-memory"), "at load"));
  serve(placing);
  assert.deepEqual(events, ["cuda to webgpu", "webgpu to cpu", "on cpu null"]);
});

test("a run is retried once on the same provider before the engine moves on", () => {
  for (const kind of ["out-of-memory", "other"] as const) {
    const { placing, events } = placingLog(["cuda", "cpu"]);
    serve(placing);
    assert.ok(placing.failed(failure("cuda", kind), "later"));
    assert.equal(placing.provider, "cuda");
    assert.ok(placing.failed(failure("cuda", kind), "later"));
    assert.deepEqual(events, ["on cuda 0", "cuda to cpu"]);
  }
});

test("the loss of the last provider ends the process, or fails the start", () => {
  const started = placingLog(["cuda"]);
  assert.ok(!started.placing.failed(failure("cuda", "missing"), "at load"));
  assert.deepEqual(started.events, []);
  const served = placingLog(["cuda"]);
  serve(served.placing);
  assert.ok(!served.placing.failed(failure("cuda", "lost"), "later"));
  assert.deepEqual(served.events, ["on cuda 0", "no more: lost"]);
});
