// Faults of the bus between a gateway and its engines, with a real nats-server. `engine-nodes.test.ts` covers
// faults of engines, `test/actors/fleet/lost-lanes.test.ts` single lost messages.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import type { LiveHost, LiveHostOptions } from "../../actors/node/live-host.js";
import { freePort } from "../../bench/support/free-port.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import type { Bus } from "../../core/ports/bus.js";
import { startLiveWorker } from "../../native/start-workers.js";
import { type BusTls, connectNats } from "../../src/bus/nats-bus.js";
import { cut, joined, silence, speech } from "../support/audio.js";
import { liveEngine, RECOGNIZER } from "../support/engines.js";
import { eventually } from "../support/eventually.js";
import { liveHost, remoteLiveEngine } from "../support/fleet.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { type Final, finalsOf, LiveListener } from "../support/live-listener.js";
import { NetworkNamespace, WITHOUT_NAMESPACES } from "../support/network-namespace.js";
import { SlowLink } from "../support/slow-link.js";

const DIALOGUE = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.flac"),
  silence(0.4),
);
/** Shorter than a turn on a loaded machine, but long enough for the engine's threads to report. */
const LOST_MS = 4_000;
const LIMIT_MS = 240_000;
const REFUSED_MS = 3_000;

let startWorker: LiveHostOptions["startWorker"];
let expected: Final[];

before(async () => {
  const { MODELS_DIR } = await lightModels();
  const settings = { ...RECOGNIZER, modelFolder: join(MODELS_DIR, basename(RECOGNIZER_FOLDER)) };
  startWorker = (cells, hear) => startLiveWorker(settings, cells, hear);
  const threads = await liveEngine({ startWorker });
  await threads.start();
  expected = await finalsOf(threads, [DIALOGUE]);
  assert.ok(expected.length >= 2);
  await threads.stop();
});

/** The connections of one test, which are closed when it ends. */
function connections(t: TestContext) {
  const faults: unknown[] = [];
  const reconnects = new Set<Bus>();
  const open = async (
    servers: readonly string[],
    tls: BusTls | null = null,
    connectWithinMs = LIMIT_MS,
  ): Promise<Bus> => {
    const observer = {
      disconnected: () => undefined,
      reconnected: () => void reconnects.add(bus),
      fault: (error: unknown) => void faults.push(error),
      damaged: () => void faults.push("damaged"),
    };
    const bus: Bus = await connectNats({ servers, name: "test", tls, connectWithinMs, observer });
    t.after(() => bus.drain());
    return bus;
  };
  return { open, faults, reconnects };
}

async function node(t: TestContext, bus: Bus): Promise<LiveHost> {
  const host = await liveHost(bus, { startWorker });
  t.after(() => host.stop());
  await host.start();
  return host;
}

async function gateway(t: TestContext, bus: Bus, lostMs = LOST_MS) {
  const remote = await remoteLiveEngine(bus, { lostMs });
  t.after(() => remote.stop());
  await remote.engine.start();
  return remote;
}

/**
 * Streams half of the dialogue, triggers an event, then streams the rest. The finals must equal those of an
 * undisturbed process.
 */
async function speak({ engine }: Awaited<ReturnType<typeof gateway>>, during: () => Promise<void>) {
  const listener = new LiveListener(engine);
  const pieces = cut(DIALOGUE, [1_600]);
  await listener.writeAll(pieces.slice(0, 20));
  await listener.seen((event) => event.type === "partial");
  await during();
  await listener.writeAll(pieces.slice(20));
  assert.equal((await listener.finish()).type, "finished");
  assert.deepEqual(listener.finals, expected);
  const numbers = listener.finals.map(({ utterance }) => utterance);
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index),
  );
}

describe("the bus between a gateway and its engines", { skip: WITHOUT_NATS }, () => {
  test("killing bus servers one by one and all together loses no word", async (t) => {
    const { open, reconnects } = connections(t);
    const folder = await temporaryFolder();
    const lameDuck = join(folder, "lame-duck.conf");
    await writeFile(lameDuck, 'lame_duck_duration: "30s"\nlame_duck_grace_period: "100ms"\n');
    const routes = await Promise.all([1, 2, 3].map(() => freePort()));
    const all = routes.map((port) => `nats://127.0.0.1:${port}`).join();
    const servers = await Promise.all(
      routes.map((port) => {
        const cluster = ["--cluster_name", "three", "--cluster", `nats://127.0.0.1:${port}`, "--routes", all];
        return NatsServer.startAt({ more: ["-c", lameDuck, ...cluster] });
      }),
    );
    t.after(() => Promise.all(servers.map((server) => server.kill())));
    // Each side has its own server, so messages pass between servers.
    const [one, two, three] = servers.map(({ url }) => url) as [string, string, string];
    const host = await node(t, await open([one, two, three]));
    const remote = await gateway(t, await open([two, three, one]));
    const settled = () => eventually("the session is on the engine", () => host.sessionCount === 1, LIMIT_MS);
    await speak(remote, async () => {
      for (const server of servers) {
        await server.kill();
        await server.start();
        await settled();
      }
      assert.ok(reconnects.size > 0, "one of three was used");
      await servers[0]!.leave();
      await servers[0]!.start();
      await settled();
      reconnects.clear();
      await Promise.all(servers.map((server) => server.kill()));
      await Promise.all(servers.map((server) => server.start()));
      await eventually("both sides are connected again", () => reconnects.size === 2, LIMIT_MS);
      await settled();
    });
    assert.ok(remote.endings.includes("reconnect"), remote.endings.join());
  });

  test("with 80 ms and 8 Mbit/s between gateway and bus, the window holds and everything completes", async (t) => {
    const { open } = connections(t);
    const server = await NatsServer.start();
    t.after(() => server.kill());
    await node(t, await open([server.url]));
    const link = await SlowLink.open({ port: server.port, delayMs: 80, bytesPerSecond: 1_000_000 });
    t.after(() => link.close());
    const remote = await gateway(t, await open([`nats://127.0.0.1:${link.port}`]), 60_000);
    const others = Array.from({ length: 3 }, () => new LiveListener(remote.engine));
    // The audio is sent unpaced, as from a file: 60 s in each session, four windows in total.
    for (const { feed } of others) assert.equal(feed.write(silence(50)), 50 * 16_000);
    let most = 0;
    await speak(remote, async () => {
      most = remote.inFlightBytes();
    });
    assert.ok(most <= 1_100_000, `${most}`);
    for (const other of others) assert.equal((await other.finish()).type, "finished");
    assert.deepEqual(remote.endings, []);
    await eventually("all was heard", () => remote.inFlightBytes() < 100_000);
  });

  test("cutting off an engine, then the gateway, from the bus loses no word", {
    skip: WITHOUT_NAMESPACES,
  }, async (t) => {
    const { open } = connections(t);
    const [ofEngine, ofGateway] = [0, 1];
    const namespace = new NetworkNamespace();
    t.after(() => namespace.remove());
    const [there, here] = [namespace.link(ofEngine), namespace.link(ofGateway)];
    const { within } = namespace;
    const server = await NatsServer.startAt({ host: "0.0.0.0", reachedAt: here, within });
    t.after(() => server.kill());
    const address = (host: string) => [`nats://${host}:${server.port}`];
    await node(t, await open(address(there)));
    const remote = await gateway(t, await open(address(here)));
    const other = await node(t, await open(address(here)));
    await speak(remote, async () => {
      namespace.cut(ofEngine);
      await eventually("the other engine has the session", () => other.sessionCount === 1, LIMIT_MS);
      namespace.mend(ofEngine);
    });
    assert.ok(remote.endings.includes("silent"), remote.endings.join());
    const before = remote.endings.length;
    await speak(remote, async () => {
      namespace.cut(ofGateway);
      await eventually("the gateway has lost its lane", () => remote.endings.length > before, LIMIT_MS);
      namespace.mend(ofGateway);
    });
  });

  test("with TLS a client's certificate decides whether it connects and what it may do", async (t) => {
    const { open, faults } = connections(t);
    const folder = await temporaryFolder();
    const own = certificates(folder, "own");
    const strangers = certificates(folder, "strangers");
    const server = await NatsServer.startAt({ more: ["-c", await deployedSettings(folder, own("server"))] });
    t.after(() => server.kill());
    const secured = [server.url.replace("nats:", "tls:")];
    const engineBus = await open(secured, own("dauys-engine"));
    await node(t, engineBus);
    const gatewayBus = await open(secured, own("dauys-gateway"));
    await speak(await gateway(t, gatewayBus, 60_000), async () => {});
    assert.deepEqual(faults, []);
    const refusals: Readonly<Record<string, readonly [readonly string[], BusTls | null]>> = {
      "without a certificate": [secured, { ...own("dauys-gateway"), certFile: null, keyFile: null }],
      "with a stranger's": [secured, { ...strangers("dauys-gateway"), caFile: own("server").caFile }],
      "with a name that no user has": [secured, own("nobody")],
      "without TLS": [[server.url], null],
    };
    await Promise.all(
      // In some cases the server disconnects without a message, and the client waits.
      Object.entries(refusals).map(([how, [servers, tls]]) =>
        assert.rejects(open(servers, tls, REFUSED_MS), how),
      ),
    );
    engineBus.subscribe("dauys.v1.front.>", () => assert.fail("an engine receives messages for gateways"));
    engineBus.subscribe(">", () => assert.fail("an engine hears everything"));
    gatewayBus.publish("dauys.v1.front.someone.live.0", Uint8Array.of(1));
    await Promise.all([engineBus.flush(), gatewayBus.flush()]);
    const refused = () => [...new Set(faults.map(String))].toSorted();
    await eventually("all three are refused", () => refused().length === 3);
    assert.deepEqual(
      refused().map((fault) => /Permissions Violation for (.*)$/.exec(fault)?.[1]),
      [
        'Publish to "dauys.v1.front.someone.live.0"',
        'Subscription to ">"',
        'Subscription to "dauys.v1.front.>"',
      ],
    );
  });
});

/** Creates a certificate authority for a test. It writes certificates for the requested names to `folder`. */
function certificates(folder: string, authority: string) {
  const file = (name: string, ending: string) => join(folder, `${authority}-${name}.${ending}`);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const of = (name: string, ...more: readonly string[]) =>
    openssl(
      "req",
      "-x509",
      ...key,
      "-keyout",
      file(name, "key"),
      "-out",
      file(name, "crt"),
      "-subj",
      `/CN=${name}`,
      ...more,
    );
  of("ca", "-addext", "keyUsage=keyCertSign");
  return (name: string): BusTls => {
    const [ca, caKey, crt] = [file("ca", "crt"), file("ca", "key"), file(name, "crt")];
    of(
      name,
      "-CA",
      ca,
      "-CAkey",
      caKey,
      "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-addext",
      "basicConstraints=CA:FALSE",
    );
    return { caFile: ca, certFile: crt, keyFile: file(name, "key") };
  };
}

/** The NATS permissions of `deploy/kubernetes`, with certificates made for a test. */
async function deployedSettings(folder: string, { caFile, certFile, keyFile }: BusTls): Promise<string> {
  const deployed = await readFile("deploy/kubernetes/overlays/fleet/nats/nats.conf", "utf8");
  const block = (name: string) => new RegExp(`^${name} \\{\\n.*?^\\}`, "ms").exec(deployed)![0];
  const tls = block("tls")
    .replace("/bus/ca.crt", caFile!)
    .replace("/bus/tls.crt", certFile!)
    .replace("/bus/tls.key", keyFile!);
  const path = join(folder, "nats.conf");
  await writeFile(path, `${tls}\n${block("authorization")}\n`);
  return path;
}
