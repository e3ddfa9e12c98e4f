// `npm run timing`: checks whether the time of a 401 reveals how much of a key is correct, only on 127.0.0.1.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { parseArgs } from "node:util";
import { saveResult } from "../../bench/save-result.js";
import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";

const HELP = `npm run timing -- [--requests 2000] [--save]
Asks with wrong keys that share nothing, half, or all but the last four digits with one that is good, by turns, and
prints how the medians differ from those of keys that share nothing either.`;
const DIGITS = 48;
/**
 * Number of digits that each kind of wrong key shares with the valid one. "again" is a control for chance.
 */
const SHARED: Readonly<Record<string, number>> = {
  nothing: 0,
  again: 0,
  half: DIGITS / 2,
  "all but four": DIGITS - 4,
};
const RESAMPLINGS = 2_000;
const SEED = 1;
/** Confidence level of the interval of the difference. */
const SHARE = 0.99;

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "2000" },
    save: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else await main(Number(values.requests), values.save);

async function main(requests: number, isSaved: boolean): Promise<void> {
  const service = await AttackedService.start(ATTACKED_FRONTS[0]!);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const kinds = Object.keys(SHARED);
  const timesMs = new Map<string, number[]>(kinds.map((kind) => [kind, []]));
  try {
    const good = service.key.slice(-DIGITS);
    for (let nth = 0; nth < requests; nth++) {
      // Each kind comes first equally often.
      for (let turn = 0; turn < kinds.length; turn++) {
        const kind = kinds[(nth + turn) % kinds.length]!;
        // No key is used twice, because the service caches wrong keys.
        const wrong = (good.slice(0, SHARED[kind]) + randomBytes(DIGITS).toString("hex")).slice(0, DIGITS);
        if (wrong !== good) timesMs.get(kind)!.push(await timeOfRefusal(service.port, agent, wrong));
      }
    }
  } finally {
    agent.destroy();
    await service.process.stop();
  }
  const base = timesMs.get("nothing")!;
  const figures = kinds.map((kind) => ({
    kind,
    sharedDigits: SHARED[kind],
    medianMs: median(timesMs.get(kind)!),
    ...differenceOfMedians(timesMs.get(kind)!, base),
  }));
  for (const { kind, medianMs, differenceMs, low, high } of figures) {
    const [median, difference, from, to] = [medianMs, differenceMs, low, high].map((ms) => ms.toFixed(4));
    console.log(`${kind.padEnd(12)} median ${median} ms, difference ${difference} ms (${from} to ${to})`);
  }
  if (isSaved) console.log(await saveResult("timing", { parameters: { requests, share: SHARE }, figures }));
}

function timeOfRefusal(port: number, agent: Agent, digits: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAtMs = performance.now();
    const headers = { authorization: `Bearer sk-svc-${digits}`, "content-length": 0 };
    request(
      { host: "127.0.0.1", port, method: "POST", path: "/v1/stream/token", agent, headers },
      (answer) => {
        const tookMs = performance.now() - startedAtMs;
        assert.equal(answer.statusCode, 401);
        answer.resume().once("end", () => resolve(tookMs));
      },
    )
      .once("error", reject)
      .end();
  });
}

function differenceOfMedians(own: readonly number[], base: readonly number[]) {
  const random = uniformRandom(SEED);
  const drawn = (values: readonly number[]) =>
    Float64Array.from(values, () => values[Math.floor(random() * values.length)]!);
  const differences = Array.from({ length: RESAMPLINGS }, () => median(drawn(own)) - median(drawn(base)));
  differences.sort((a, b) => a - b);
  const at = (share: number) => differences[Math.floor(share * (RESAMPLINGS - 1))]!;
  const outside = (1 - SHARE) / 2;
  return { differenceMs: median(own) - median(base), low: at(outside), high: at(1 - outside) };
}

function median(values: ArrayLike<number>): number {
  return Float64Array.from(values).sort()[values.length >> 1]!;
}
