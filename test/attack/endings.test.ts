import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import WebSocket from "ws";
import { freePort } from "../../bench/support/free-port.js";
import { type Service, startService } from "../../src/service/compose.js";
import { readConfig } from "../../src/settings/settings.js";
import { EmbeddedPostgres } from "../../src/store/postgres/embedded-postgres.js";
import { CHEAP_PASSWORDS } from "../support/cheap-passwords.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SILENT } from "../support/silent-log.js";
import { ConsoleClient } from "./support/console-client.js";

/** An ending on one service reaches the others within half a minute, as the documentation says. */
const SWEEP_MS = 30_000;
const PASSWORD = "correct horse battery";
const PATHS = ["/v1/stream", "/v1/listen", "/v2/listen", "/v1/realtime", "/v1/speak"];

let server: EmbeddedPostgres;
/** The service on which keys end. */
let one: Service;
/** The service that holds the sockets of those keys. */
let other: Service;
let sweepOther: () => void = () => assert.fail("the sweep was set up");
let personCount = 0;

before(async () => {
  server = await EmbeddedPostgres.start({ dataDir: await preparedFolder(), purpose: "service", log: SILENT });
  one = await start(() => {});
  other = await start((act) => {
    sweepOther = act;
  });
});
after(async () => {
  await Promise.all([one?.stop(), other?.stop()]);
  await server.stop();
});

/** Starts a service on the shared database. The test triggers its sweep. */
async function start(onSweep: (act: () => void) => void): Promise<Service> {
  const { host, port, user, password, database } = server.connection;
  const config = readConfig({
    HOST: "127.0.0.1",
    PORT: String(await freePort()),
    DATA_DIR: await temporaryFolder(),
    DATABASE_URL: `postgres://${user}:${password}@${host}:${port}/${database}`,
    KEY_PEPPER: "a pepper for both services",
    MODEL_PRELOAD: "false",
  });
  const repeat = (act: () => void, everyMs: number) => {
    assert.equal(everyMs, SWEEP_MS);
    onSweep(act);
    return () => {};
  };
  return startService({ config, log: SILENT, passwordCost: CHEAP_PASSWORDS, repeat });
}

interface Person {
  readonly who: ConsoleClient;
  readonly at: string;
  readonly id: string;
}

/** Signs up with the first service, with a new organization or an invitation. */
async function person(more?: object): Promise<Person> {
  const who = new ConsoleClient(one.port, `127.0.3.${++personCount}`);
  const organization = await who.signUp(`person-${personCount}@example.test`, more);
  const { json } = await who.ask("GET", "/session");
  return { who, at: `/organizations/${organization}`, id: json.user.id };
}

/** Returns a playground key that the second service issued for the same session. */
async function playgroundKey({ who, at }: Person): Promise<string> {
  const there = new ConsoleClient(other.port);
  there.cookie = who.cookie;
  const { status, json } = await there.ask("POST", `${at}/playground-key`, { body: {} });
  assert.equal(status, 201, JSON.stringify(json));
  return json.key;
}

async function open(path: string, key: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${other.port}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await once(socket, "open");
  return socket;
}

async function answers(socket: WebSocket): Promise<void> {
  assert.equal(socket.readyState, WebSocket.OPEN);
  const answered = once(socket, "pong");
  socket.ping();
  await answered;
}

const ENDINGS: readonly [string, () => Promise<{ key: string; end(): Promise<{ status: number }> }>][] = [
  [
    "a revoked key",
    async () => {
      const { who, at } = await person();
      const { json } = await who.ask("POST", `${at}/keys`, { body: { name: "a key" } });
      return { key: json.key, end: () => who.ask("DELETE", `${at}/keys/${json.id}`) };
    },
  ],
  [
    "a sign-out",
    async () => {
      const signedIn = await person();
      const key = await playgroundKey(signedIn);
      return { key, end: () => signedIn.who.ask("POST", "/sign-out", { body: {} }) };
    },
  ],
  [
    "a new password",
    async () => {
      const signedIn = await person();
      const key = await playgroundKey(signedIn);
      const body = { current: PASSWORD, password: "another horse battery" };
      return { key, end: () => signedIn.who.ask("POST", "/password", { body }) };
    },
  ],
  [
    "a member who is removed",
    async () => {
      const owner = await person();
      const invited = await owner.who.ask("POST", `${owner.at}/invitations`, {
        body: { role: "member" },
      });
      const [, invitation] = String(invited.json.path).split("#");
      const member = await person({ invitation });
      const key = await playgroundKey(member);
      return { key, end: () => owner.who.ask("DELETE", `${owner.at}/members/${member.id}`) };
    },
  ],
];

for (const [name, prepare] of ENDINGS) {
  test(`${name} on one service ends sockets on another at its next sweep, not earlier`, async () => {
    const { key, end } = await prepare();
    const sockets = await Promise.all(PATHS.map((path) => open(path, key)));
    const codes: number[] = [];
    for (const socket of sockets) socket.on("close", (code) => codes.push(code));
    const { status } = await end();
    assert.ok(status === 200 || status === 204, `ended with ${status}`);
    for (const socket of sockets) await answers(socket);
    assert.deepEqual(codes, []);
    sweepOther();
    await eventually("every socket is closed", () => codes.length === PATHS.length);
    assert.deepEqual(new Set(codes), new Set([4401]));
  });
}
