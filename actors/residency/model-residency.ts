import { ServiceError, shuttingDown } from "../../core/domain/errors.js";
import type { Decision } from "../../core/kernel/actor.js";

/** Most leases that may wait for a load; more fail with `ENGINE_BUSY`. */
const WAITING_CAPACITY = 4_096;

/**
 * State of an engine's workers. Work first takes a lease, which waits for the load and then keeps the workers
 * alive. `releasing` ends unused workers; a lease taken meanwhile waits for their successors.
 */
export type ResidencyState =
  | { readonly phase: "cold" }
  | { readonly phase: "loading"; readonly waiting: readonly number[] }
  | { readonly phase: "warm"; readonly leaseCount: number }
  | { readonly phase: "releasing"; readonly waiting: readonly number[] }
  | { readonly phase: "stopped" };

export type ResidencyMessage =
  | { readonly type: "acquire"; readonly lease: number }
  /** The owner of a lease has released it, or stopped waiting for it. Never sent for a refused lease. */
  | { readonly type: "leave"; readonly lease: number }
  | { readonly type: "loaded" }
  | { readonly type: "failed"; readonly error: ServiceError }
  /** The idle time passed without a lease. */
  | { readonly type: "idle" }
  | { readonly type: "released" }
  | { readonly type: "stop" };

export type ResidencyEffect =
  | { readonly type: "load" }
  /** Ends all workers that have started. */
  | { readonly type: "unload" }
  | { readonly type: "grant"; readonly lease: number }
  | { readonly type: "refuse"; readonly lease: number; readonly error: ServiceError }
  | { readonly type: "await-idle" }
  | { readonly type: "cancel-idle" };

type ResidencyDecision = Decision<ResidencyState, ResidencyEffect>;

/** Pure: decides when workers start and end, and which leases are granted. */
export function decideResidency(state: ResidencyState, message: ResidencyMessage): ResidencyDecision {
  if (message.type === "stop") return onStop(state);
  switch (state.phase) {
    case "cold":
      return message.type === "acquire" ? load([message.lease]) : unchanged(state);
    case "loading":
      return whileLoading(state, message);
    case "warm":
      return whileWarm(state, message);
    case "releasing":
      return whileReleasing(state, message);
    case "stopped":
      return message.type === "acquire" ? refuseOne(state, message.lease, shuttingDown()) : unchanged(state);
  }
}

function whileLoading(
  state: Extract<ResidencyState, { phase: "loading" }>,
  message: ResidencyMessage,
): ResidencyDecision {
  const { waiting } = state;
  switch (message.type) {
    case "acquire":
    case "leave":
      return queue(state, message);
    case "loaded": {
      const effects = waiting.map((lease) => ({ type: "grant", lease }) as const);
      const warm = { phase: "warm", leaseCount: waiting.length } as const;
      // All leases may have been released during the load.
      return { state: warm, effects: waiting.length > 0 ? effects : [{ type: "await-idle" }] };
    }
    case "failed":
      // Workers that did start must end before the next attempt.
      return {
        state: { phase: "releasing", waiting: [] },
        effects: [...refuseAll(waiting, message.error), { type: "unload" }],
      };
    default:
      return unchanged(state);
  }
}

function whileWarm(
  state: Extract<ResidencyState, { phase: "warm" }>,
  message: ResidencyMessage,
): ResidencyDecision {
  const { leaseCount } = state;
  switch (message.type) {
    case "acquire": {
      const grant = { type: "grant", lease: message.lease } as const;
      return {
        state: { phase: "warm", leaseCount: leaseCount + 1 },
        effects: leaseCount === 0 ? [{ type: "cancel-idle" }, grant] : [grant],
      };
    }
    case "leave":
      return {
        state: { phase: "warm", leaseCount: leaseCount - 1 },
        effects: leaseCount === 1 ? [{ type: "await-idle" }] : [],
      };
    case "idle":
      // A lease may have been taken between the timeout and this message.
      if (leaseCount > 0) return unchanged(state);
      return { state: { phase: "releasing", waiting: [] }, effects: [{ type: "unload" }] };
    default:
      return unchanged(state);
  }
}

function whileReleasing(
  state: Extract<ResidencyState, { phase: "releasing" }>,
  message: ResidencyMessage,
): ResidencyDecision {
  switch (message.type) {
    case "acquire":
    case "leave":
      return queue(state, message);
    case "released":
      return state.waiting.length > 0 ? load(state.waiting) : { state: { phase: "cold" }, effects: [] };
    default:
      return unchanged(state);
  }
}

function queue(
  state: Extract<ResidencyState, { phase: "loading" | "releasing" }>,
  { type, lease }: Extract<ResidencyMessage, { type: "acquire" | "leave" }>,
): ResidencyDecision {
  if (type === "leave") {
    return { state: { ...state, waiting: state.waiting.filter((other) => other !== lease) }, effects: [] };
  }
  if (state.waiting.length >= WAITING_CAPACITY) {
    return refuseOne(state, lease, new ServiceError("ENGINE_BUSY", "too many requests wait for the model"));
  }
  return { state: { ...state, waiting: [...state.waiting, lease] }, effects: [] };
}

function onStop(state: ResidencyState): ResidencyDecision {
  const stopped: ResidencyState = { phase: "stopped" };
  switch (state.phase) {
    case "loading":
      return { state: stopped, effects: [...refuseAll(state.waiting, shuttingDown()), { type: "unload" }] };
    case "warm":
      return { state: stopped, effects: [{ type: "cancel-idle" }, { type: "unload" }] };
    case "releasing":
      return { state: stopped, effects: refuseAll(state.waiting, shuttingDown()) };
    default:
      return { state: stopped, effects: [] };
  }
}

function load(waiting: readonly number[]): ResidencyDecision {
  return { state: { phase: "loading", waiting }, effects: [{ type: "load" }] };
}

function refuseOne(state: ResidencyState, lease: number, error: ServiceError): ResidencyDecision {
  return { state, effects: refuseAll([lease], error) };
}

function refuseAll(leases: readonly number[], error: ServiceError): ResidencyEffect[] {
  return leases.map((lease) => ({ type: "refuse", lease, error }));
}

function unchanged(state: ResidencyState): ResidencyDecision {
  return { state, effects: [] };
}
