import assert from "node:assert/strict";
import { after, before, beforeEach, describe } from "node:test";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

type Body = NonNullable<RequestInit["body"]>;

export const AUTHORIZED = { authorization: `Bearer ${GOOD_KEY}` };

export interface Routes {
  /** Restarted for each front; its conversations forget between two tests. */
  readonly running: RunningTransport;
  post(path: string, body: Body | object, headers?: Record<string, string>): Promise<Response>;
}

/** Registers `tests` for each front. */
export function describeRoutes(name: string, tests: (routes: Routes) => void): void {
  for (const front of FRONTS) {
    describe(`${name} on ${front}`, { concurrency: 1 }, () => {
      let running: RunningTransport;

      before(async () => {
        running = await startTransport(front);
      });
      after(async () => {
        await running.stop();
      });
      beforeEach(() => {
        running.conversations.stops.length = 0;
        running.conversations.uploads.length = 0;
        running.conversations.nextTranscription = "answer";
        running.conversations.pause = null;
      });
      tests({
        get running() {
          return running;
        },
        post(path, body, headers = AUTHORIZED) {
          const isPlain = typeof body === "object" && Object.getPrototypeOf(body) === Object.prototype;
          return fetch(running.base + path, {
            method: "POST",
            body: isPlain ? JSON.stringify(body) : (body as Body),
            headers,
          });
        },
      });
    });
  }
}

/** Checks the shape of every error answer and returns its detail. */
export async function detailOf(answer: Response, status: number, name?: string): Promise<string> {
  const body = (await answer.json()) as { detail: string };
  assert.equal(answer.status, status, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["detail"]);
  assert.equal(answer.headers.get("content-type"), "application/json");
  assert.match(answer.headers.get("x-request-id") ?? "", /^req_[0-9a-f]{24}$/);
  assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  const given = answer.headers.get("x-svc-error") ?? "";
  assert.match(given, /^[a-z_]+$/);
  if (name !== undefined) assert.equal(given, name);
  return body.detail;
}
