import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { dauysInTurn } from "../support/command-process.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

let service: ServiceProcess;

before(async () => {
  // These tests need the default limits; other tests raise the limits of the free grant.
  const limits = { FREE_SYNTHESIS_PER_ORG: "", FREE_FILES_PER_ORG: "", FREE_LIVE_PER_ORG: "" };
  service = await startServiceProcess(limits);
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

async function operator(...args: readonly string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
    env: { DATA_DIR: service.dataDir },
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

async function newKey(paidCredits: number): Promise<string> {
  const { id } = await operator("orgs", "create", "customer");
  if (paidCredits > 0) await operator("orgs", "credit", id!, String(paidCredits));
  const { key } = await operator("keys", "create", "--org", id!);
  return key!;
}

interface Listener {
  readonly socket: WebSocket;
  /**
   * The service's first message, `ready` or an error, followed by the close code if the socket closed then.
   */
  readonly answer: Promise<string>;
  /** The error that ended the session. */
  readonly refusal: Promise<string>;
  readonly closed: Promise<number>;
}

function open(key: string): Listener {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, ["svc-bearer", key]);
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  const answer = new Promise<string>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("close", (code) => reject(new Error(`closed with ${code} before any message`)));
    socket.once("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as StreamServerMessage;
      resolve(message.type === "error" ? message.code : message.type);
    });
  });
  const refusal = new Promise<string>((resolve) => {
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as StreamServerMessage;
      if (message.type === "error") resolve(message.code);
    });
  });
  return { socket, answer, refusal, closed };
}

for (const { tier, paidCredits, limit } of [
  { tier: "that lives on its free grant", paidCredits: 0, limit: 4 },
  { tier: "that has paid", paidCredits: 1_000_000, limit: 20 },
]) {
  test(`an organization ${tier} may have at most ${limit} live sessions`, async () => {
    const key = await newKey(paidCredits);
    const listeners: Listener[] = [];
    for (let index = 0; index < limit; index++) {
      const listener = open(key);
      listeners.push(listener);
      assert.equal(await listener.answer, "ready", `session ${index + 1}`);
    }
    const refused = open(key);
    // The rejection arrives immediately, or after `ready` if the last slot was taken at the same moment.
    assert.deepEqual([await refused.refusal, await refused.closed], ["too_many_requests", 4429]);
    // A session that ends frees its slot.
    listeners[0]?.socket.send('{"type":"close"}');
    assert.equal(await listeners[0]?.closed, 1000);
    const next = open(key);
    assert.equal(await next.answer, "ready");
    for (const { socket, closed } of [...listeners, next]) {
      if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"close"}');
      await closed;
    }
  });
}
