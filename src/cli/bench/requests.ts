import { type Call, failedCall, runSchedule } from "./arrivals.js";
import { call } from "./http-call.js";
import type { LevelContext } from "./level.js";
import type { LevelResult } from "./result.js";

/** Requests the list of models `rate` times per second. Every protocol has this list, and it is free. */
export function runRequestsLevel(context: LevelContext, rate: number, seconds: number): Promise<LevelResult> {
  return runSchedule(context, () => listCall(context), { rate, seconds });
}

function listCall({ url, key, wire, signal }: LevelContext): Call {
  const Authorization = `${wire === "deepgram" ? "Token" : "Bearer"} ${key}`;
  return {
    estimate: 0,
    run: async (dueAtMs) => {
      try {
        const { endedAtMs } = await call({
          ...{ method: "GET", url: `${url}/v1/models`, headers: { Authorization }, body: null, signal },
        });
        const main = endedAtMs - dueAtMs;
        return {
          ...{ values: { response: [main] }, words: [], missed: 0, sentences: 0, underruns: 0 },
          ...{ failure: null, charged: 0, main },
        };
      } catch (error) {
        return failedCall(error instanceof Error ? error.message : String(error));
      }
    },
  };
}

/** The list of models is free. */
export function requestsEstimate(): number {
  return 0;
}
