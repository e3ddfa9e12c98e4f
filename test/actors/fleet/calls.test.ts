import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type CallEnding, CallLost, FleetCalls } from "../../../actors/fleet/fleet-calls.js";
import { frontGone, nodeGone } from "../../../actors/fleet/subjects.js";
import { CallHost, type CallHostOptions, type HostedCall } from "../../../actors/node/call-host.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Bus } from "../../../core/ports/bus.js";
import { systemClock } from "../../../core/ports/clock.js";
import { peerName } from "../../../src/bus/open-bus.js";
import { BUSES, type Buses } from "../../support/buses.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { LossyBus } from "../../support/lossy-bus.js";
import { RecordedSpans } from "../../support/recorded-spans.js";
import { SILENT } from "../../support/silent-log.js";

const NEVER = new AbortController().signal;
const WANTED = { kind: "synthesis", model: "m", manifest: "h", traceparents: [] } as const;

for (const { name, skip, open } of BUSES) {
  describe(`calls over ${name}`, { skip }, () => {
    let buses: Buses;
    before(async () => {
      buses = await open();
    });
    after(() => buses.stop());

    /** Connects a front and a host over separate connections; `end` closes both. */
    async function pair(
      perform: CallHostOptions["perform"],
      changes: Partial<CallHostOptions> & { readonly fromFront?: (bus: Bus) => Bus } = {},
    ) {
      const { fromFront = (bus) => bus, ...ofHost } = changes;
      const [atFront, atHost] = [await buses.connect(), await buses.connect()];
      const [node, name] = [peerName(), peerName()];
      const host = new CallHost({
        ...{ bus: atHost, node, cell: "c", zone: "z", clock: systemClock, log: SILENT, capacity: 2, perform },
        ...WANTED,
        ...ofHost,
      });
      await host.start();
      const lost: CallEnding[] = [];
      let open = 0;
      const front = new FleetCalls({
        bus: fromFront(atFront),
        front: name,
        observer: {
          began: () => void open++,
          ended: () => void open--,
          lost: (_, ending) => void lost.push(ending),
        },
      });
      await atFront.flush();
      const parts: unknown[] = [];
      return {
        host,
        lost,
        parts,
        ...{ atFront, node, front: name },
        open: () => open,
        begin: (
          body: unknown,
          signal = NEVER,
          more: { readonly manifest?: string; readonly traceparents?: readonly string[] } = {},
        ) =>
          front.begin(
            {
              ...{ ...WANTED, ...more, node, body, onPart: (part: unknown) => void parts.push(part) },
              bytesOf: async (item, start, count) =>
                Uint8Array.from({ length: count }, (_, at) => item + start + at),
            },
            signal,
          ),
        end: async () => {
          front.close();
          host.stop();
          await Promise.all([atFront.drain(), atHost.drain()]);
        },
      };
    }

    test("delivers parts in order, then the answer, without losing a byte", async () => {
      const pulled: number[][] = [];
      const { begin, parts, open, end } = await pair(async ({ body, send, pull }) => {
        for (let nth = 0; nth < 50; nth++) send(nth);
        send(Int16Array.of(-2, 3));
        pulled.push([...(await pull(7, 2, 3))]);
        return { body, large: new Uint8Array(262_144).fill(9) };
      });
      const answer = (await begin({ text: "сәлем" }).answer) as { body: unknown; large: Uint8Array };
      assert.deepEqual(
        [answer.body, answer.large.length, pulled],
        [{ text: "сәлем" }, 262_144, [[9, 10, 11]]],
      );
      const bytes = parts.pop() as Uint8Array;
      assert.deepEqual([...bytes], [254, 255, 3, 0]);
      assert.deepEqual(parts, [...Array(50).keys()]);
      assert.equal(open(), 0);
      await end();
    });

    test("a host continues the traces of all requests that share a call", async () => {
      const tracer = new RecordedSpans();
      const { begin, end } = await pair(async ({ span }) => span.event("seen"), { tracer });
      await begin(null).answer;
      assert.deepEqual(tracer.spans, []);
      const traceparents = ["00-1-1-01", "00-2-2-01"];
      await begin(null, NEVER, { traceparents }).answer;
      assert.deepEqual(
        tracer.spans.map(({ name, parent, events, ends }) => ({ name, parent, events, ends })),
        traceparents.map((parent) => ({ name: "engine synthesis", parent, events: ["seen"], ends: 1 })),
      );
      await end();
    });

    test("a host's failure reaches the caller; an unexpected one becomes an internal error", async () => {
      const { begin, end } = await pair(async ({ body }) => {
        throw body === 1 ? new ServiceError("MODEL_BROKEN", "no weights") : new TypeError("secret");
      });
      await assert.rejects(begin(1).answer, { code: "MODEL_BROKEN", message: "no weights" });
      await assert.rejects(begin(2).answer, { code: "INTERNAL", message: "internal error" });
      await end();
    });

    test("a cancelled call ends on both sides; one cancelled in advance is never sent", async () => {
      const begun = deferred<AbortSignal>();
      const { begin, host, end } = await pair(({ signal }) => {
        begun.resolve(signal);
        return waitFor(signal);
      });
      const controller = new AbortController();
      const { answer } = begin(null, controller.signal);
      const signal = await begun.promise;
      controller.abort(new Error("the client has left"));
      await assert.rejects(answer, /the client has left/);
      await eventually("the host has ended it", () => signal.aborted && host.callCount === 0);
      await assert.rejects(begin(null, controller.signal).answer, /the client has left/);
      await end();
    });

    test("a host that is full, draining or has other weights rejects calls", async () => {
      const go = deferred<void>();
      const { begin, host, lost, end } = await pair(() => go.promise, { capacity: 1 });
      const { answer: first } = begin(null);
      const refused = (answer: Promise<unknown>) =>
        assert.rejects(answer, (error) => error instanceof CallLost && error.ending === "refused");
      await refused(begin(null).answer);
      await refused(begin(null, NEVER, { manifest: "other" }).answer);
      const drained = host.drain(60_000);
      await refused(begin(null).answer);
      go.resolve();
      await first;
      await drained;
      assert.deepEqual(lost, ["refused", "refused", "refused"]);
      await end();
    });

    test("each side detects that the other has left", async () => {
      const signals: AbortSignal[] = [];
      const say = deferred<void>();
      const { begin, host, lost, atFront, end } = await pair(async ({ signal, send }: HostedCall) => {
        signals.push(signal);
        await say.promise;
        send(1);
        return waitFor(signal);
      });
      const { answer } = begin(null);
      answer.catch(() => undefined);
      await eventually("it has begun", () => signals.length === 1);
      await atFront.drain();
      say.resolve();
      await eventually("the host has ended the call of a front that is gone", () => signals[0]!.aborted);
      const other = await pair(async () => null);
      other.host.stop();
      await assert.rejects(
        other.begin(null).answer,
        (error) => error instanceof CallLost && error.ending === "gone",
      );
      assert.deepEqual([other.lost, lost, host.callCount], [["gone"], [], 0]);
      await end();
      await other.end();
    });

    test("only the bus's own message about a lost peer ends a call", async () => {
      const go = deferred<void>();
      const signals: AbortSignal[] = [];
      const { begin, lost, atFront, node, front, end } = await pair(async ({ signal }) => {
        signals.push(signal);
        await go.promise;
        return "done";
      });
      const { answer } = begin(null);
      await eventually("it has begun", () => signals.length === 1);
      for (const bytes of [new Uint8Array(), Uint8Array.of(1)]) {
        atFront.publish(nodeGone(front, WANTED.kind, node), bytes);
        atFront.publish(frontGone(node, WANTED.kind, front), bytes);
      }
      const next = begin(null);
      await eventually("the host has heard all", () => signals.length === 2);
      assert.deepEqual([signals[0]!.aborted, lost], [false, []]);
      go.resolve();
      assert.deepEqual(await Promise.all([answer, next.answer]), ["done", "done"]);
      await end();
    });

    test("after the loss of any message, the call ends or is answered completely", async () => {
      const talk: CallHostOptions["perform"] = async ({ send, pull }) => {
        send(1);
        const bytes = await pull(0, 0, 1);
        send(bytes[0]);
        return "done";
      };
      const endings: unknown[] = [];
      for (let nth = 0; nth < 6; nth++) {
        for (const pattern of [/\.engine\..*\.synthesis\./, /\.front\..*\.call\./]) {
          const lossy = (bus: Bus) => new LossyBus(bus, pattern, (at) => (at === nth ? "drop" : "send"));
          const isFront = pattern.source.includes("engine");
          const atHost = isFront ? {} : { bus: lossy(await buses.connect()) };
          const { begin, parts, end } = await pair(talk, { ...atHost, ...(isFront && { fromFront: lossy }) });
          endings.push(
            await begin(null).answer.then(
              (answer) => {
                assert.deepEqual([answer, parts], ["done", [1, 0]]);
                return "done";
              },
              (error) => (error as CallLost).ending,
            ),
          );
          await end();
          await atHost.bus?.drain();
        }
      }
      // Only the loss of the call itself or of the first part must have these endings. Later messages may all
      // be about the call, and losing them may have no effect.
      assert.deepEqual(endings.slice(0, 2), ["unknown", "gap"]);
      for (const ending of endings)
        assert.ok(["unknown", "gap", "done"].includes(String(ending)), String(ending));
    });

    test("a lost connection ends calls on both sides", async () => {
      const signals: AbortSignal[] = [];
      const { begin, host, end } = await pair(({ signal }) => {
        signals.push(signal);
        return waitFor(signal);
      });
      const { answer } = begin(null);
      const rejected = assert.rejects(
        answer,
        (error) => error instanceof CallLost && error.ending === "reconnect",
      );
      await eventually("it has begun", () => signals.length === 1);
      await buses.interrupt();
      await buses.resume();
      await rejected;
      await eventually("the host has ended it", () => signals[0]!.aborted && host.callCount === 0);
      await end();
    });
  });
}

function waitFor(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
