import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import { runLive } from "../../bench/support/live-client.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { creditsFor, DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { FAULTY_MAIN } from "../support/faulty/entries.js";
import { momentOfFault } from "../support/pace.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const skip = typeof loadUwsBinding() === "string" && "the native front does not load here";
const FREE = 25_000;
/** Enough connections that the kernel gives each of the two threads some of them. */
const SESSIONS = 16;
const LIVE_LIMIT = 20;
/** One second of audio at 16 kHz, whose default price is known in credits. */
const SECOND = new Int16Array(16_000);

let service: ServiceProcess;

before(async () => {
  if (skip !== false) return;
  service = await startServiceProcess(
    { MODEL_PRELOAD: "true", FRONT_THREADS: "2", FREE_LIVE_PER_ORG: String(LIVE_LIMIT) },
    { main: FAULTY_MAIN },
  );
});

after(async () => {
  if (skip === false && service.child.exitCode === null) await service.stop();
});

interface Ledger {
  readonly balance: number;
  readonly held: number;
  readonly data: readonly { readonly reference: string; readonly amount: number }[];
}

async function operator(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
    env: { DATA_DIR: service.dataDir },
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

async function newCustomer(): Promise<{ readonly id: string; readonly key: string }> {
  const { id } = (await operator("orgs", "create", "customer")) as { id: string };
  const { key } = (await operator("keys", "create", "--org", id)) as { key: string };
  return { id, key };
}

async function settledLedgerOf(id: string): Promise<Ledger> {
  let ledger: Ledger | null = null;
  await eventually("every hold is settled", async () => {
    ledger = (await operator("ledger", id)) as Ledger;
    return ledger.held === 0;
  });
  return ledger!;
}

interface Session {
  readonly socket: WebSocket;
  readonly id: string;
  readonly messages: StreamServerMessage[];
  readonly closed: Promise<number>;
}

/** Settles with the open session, or with the code that rejected it. */
async function open(key: string): Promise<Session | string> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, ["svc-bearer", key]);
  const messages: StreamServerMessage[] = [];
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as StreamServerMessage;
      messages.push(message);
      if (message.type === "ready") resolve({ socket, id: message.session_id, messages, closed });
      else if (message.type === "error") resolve(message.code);
    });
  });
}

async function openAll(key: string, count: number): Promise<Session[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => open(key)));
  return answers.flatMap((answer) => (typeof answer === "string" ? [] : [answer]));
}

test("work on two threads costs exactly what the ledger records", {
  skip,
}, async () => {
  const { id, key } = await newCustomer();
  const headers = { authorization: `Bearer ${key}`, connection: "close" };
  const wav = new Uint8Array(writeWav(new Int16Array(8_000 * 3 + 1), 8_000));
  const expected = new Map<string, number>();
  await Promise.all([
    ...Array.from({ length: 2 }, async () => {
      const answer = await fetch(`${service.url}/v1/transcribe`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/octet-stream" },
        body: wav,
      });
      assert.equal(answer.status, 200);
      const { credits_charged } = (await answer.json()) as { credits_charged: number };
      expected.set(`charge:${answer.headers.get("x-request-id")}`, -credits_charged);
    }),
    ...Array.from({ length: 4 }, async () => {
      const answer = await fetch(`${service.url}/v1/tts/stream`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ text: "Сәлем. Ия.", nfe: 4 }),
      });
      assert.equal(answer.status, 200);
      assert.ok((await answer.arrayBuffer()).byteLength > 20_000);
      const units = Number(answer.headers.get("x-svc-chars"));
      const credits = creditsFor({ units, unitsPerSecond: 1 }, DEFAULT_TARIFFS.synthesis);
      expected.set(`charge:${answer.headers.get("x-request-id")}`, -credits);
    }),
    ...Array.from({ length: 6 }, async () => {
      const run = await runLive({
        url: service.url,
        key,
        pcm: new Int16Array(16_001),
        isPaced: false,
        messageSamples: [1, 333, 1_600],
      });
      assert.equal(run.closeCode, 1000);
      const messages = run.received.map(({ message }) => message);
      const ready = messages.find((message) => message.type === "ready");
      const done = messages.find((message) => message.type === "done");
      assert.ok(ready?.type === "ready" && done?.type === "done");
      assert.deepEqual([done.audio_seconds, done.credits_charged], [16_001 / 16_000, 7]);
      expected.set(`charge:${ready.session_id}`, -7);
    }),
  ]);
  const { balance, data } = await settledLedgerOf(id);
  const charged = new Map(data.map(({ reference, amount }) => [reference, amount]));
  charged.delete(`grant:free:${id}`);
  assert.deepEqual(charged, expected);
  assert.equal(
    balance,
    [...expected.values()].reduce((total, amount) => total + amount, FREE),
  );
});

test("limits apply across threads: one session above the limit is rejected", { skip }, async () => {
  const { key } = await newCustomer();
  const answers = await Promise.all(Array.from({ length: LIVE_LIMIT + 8 }, () => open(key)));
  const sessions = answers.flatMap((answer) => (typeof answer === "string" ? [] : [answer]));
  assert.equal(sessions.length, LIVE_LIMIT);
  assert.deepEqual(
    new Set(answers.filter((answer) => typeof answer === "string")),
    new Set(["too_many_requests"]),
  );
  for (const { socket } of sessions) socket.close();
  await Promise.all(sessions.map(({ closed }) => closed));
  const again = await openAll(key, 1);
  assert.equal(again.length, 1, "a place that is free again can be taken");
  again[0]?.socket.close();
});

test("a crashed front thread restarts, with its sockets' sessions settled", {
  skip,
}, async () => {
  const { id, key } = await newCustomer();
  const sessions = await openAll(key, SESSIONS);
  assert.equal(sessions.length, SESSIONS);
  for (const { socket } of sessions) {
    socket.send(SECOND);
    // Responses arrive in order, so this error means that the audio before it was accepted.
    socket.send("no JSON");
  }
  const isAnswered = ({ messages }: Session) =>
    messages.some((said) => said.type === "error" && said.code === "bad_message");
  await eventually("the audio of all is accepted", () => sessions.every(isAnswered));
  const endings = sessions.map(({ closed }) => closed);
  service.child.kill("SIGHUP");
  await eventually("the thread has ended", () => /front thread ended/.test(service.output()));
  // By then the thread has closed its sockets. The other sockets still respond.
  const lostCodes = await Promise.all(
    sessions.map(({ socket, closed }) => {
      if (socket.readyState === WebSocket.OPEN) socket.ping();
      return Promise.race([closed, once(socket, "pong").then(() => 0)]);
    }),
  );
  const lostCount = lostCodes.filter((code) => code === 1006).length;
  assert.ok(lostCount > 0 && lostCount < SESSIONS, `${lostCount} of ${SESSIONS} sessions were on the thread`);
  for (const { socket } of sessions)
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "close" }));
  const codes = await Promise.all(endings);
  assert.equal(codes.filter((code) => code === 1000).length, SESSIONS - lostCount);
  const { balance, data } = await settledLedgerOf(id);
  assert.equal(data.length, 1 + SESSIONS, "each session is charged once, whether its socket was lost or not");
  const amounts = new Set(data.slice(1).map(({ amount }) => amount));
  assert.equal(amounts.size, 1, `the same audio costs the same: ${[...amounts].join(", ")}`);
  assert.equal(balance, FREE + SESSIONS * ([...amounts][0] ?? 0));
  assert.match(service.output(), /front thread ended/);
  const more = await openAll(key, SESSIONS);
  assert.equal(more.length, SESSIONS, "both threads take connections");
  for (const { socket } of more) socket.close();
  await Promise.all(more.map(({ closed }) => closed));
});

test("refunds audio that a crashing front thread did not deliver", { skip }, async () => {
  const { id, key } = await newCustomer();
  // A round proves nothing if all responses were sent before the signal arrived.
  for (let rounds = 0; (await countCut(id, key)) === 0; rounds++) assert.ok(rounds < 10, "some are cut");
});

/** Ends a front thread while it sends responses, checks their charges, and returns how many were cut off. */
async function countCut(id: string, key: string): Promise<number> {
  const text = "Бүгін ауа райы жақсы болады. Қазақ тілі түркі тілдеріне жатады. Кітапхана таңертең ашылады.";
  const begun = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const answer = await fetch(`${service.url}/v1/tts/stream`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ text, nfe: 32 }),
      });
      assert.equal(answer.status, 200);
      return { answer, charge: `charge:${answer.headers.get("x-request-id")}` };
    }),
  );
  service.child.kill("SIGHUP");
  const outcomes = await Promise.all(
    begun.map(async ({ answer, charge }) => {
      const isWhole = await answer.arrayBuffer().then(
        () => true,
        () => false,
      );
      return { charge, isWhole };
    }),
  );
  const cutCount = outcomes.filter(({ isWhole }) => !isWhole).length;
  assert.ok(cutCount < outcomes.length, `${cutCount} of ${outcomes.length} answers were cut`);
  const full = -creditsFor({ units: [...text].length, unitsPerSecond: 1 }, DEFAULT_TARIFFS.synthesis);
  const { balance, data } = await settledLedgerOf(id);
  for (const { charge, isWhole } of outcomes) {
    const entries = data.filter(({ reference }) => reference.endsWith(charge.slice("charge:".length)));
    const paid = entries.reduce((total, { amount }) => total + amount, 0);
    assert.ok(isWhole ? paid === full : paid > full && paid <= 0, `${paid} of ${full}, whole: ${isWhole}`);
  }
  assert.equal(
    balance,
    data.reduce((total, { amount }) => total + amount, 0),
  );
  return cutCount;
}

test("SIGTERM notifies, finishes and charges the sessions of both threads", {
  skip,
}, async () => {
  const { key } = await newCustomer();
  const sessions = await openAll(key, SESSIONS);
  for (const { socket } of sessions) socket.send(SECOND);
  await momentOfFault(200);
  const exited = once(service.child, "exit");
  service.child.kill("SIGTERM");
  const codes = new Set(await Promise.all(sessions.map(({ closed }) => closed)));
  assert.deepEqual(codes, new Set([1012]));
  for (const { messages } of sessions) {
    const types = messages.map(({ type }) => type);
    assert.ok(types.includes("going_away") && types.at(-1) === "done", types.join(", "));
  }
  const [exitCode] = (await exited) as [number];
  assert.equal(exitCode, 0);
});
