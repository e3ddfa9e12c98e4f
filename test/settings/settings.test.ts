import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { ConfigError } from "../../src/settings/config-error.js";
import { readConfig, SETTINGS } from "../../src/settings/settings.js";

test("an empty environment gives the defaults", () => {
  const config = readConfig({ PORT: "", HOST: " " });
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 8080);
  assert.equal(config.dataDir, resolve("data"));
  assert.equal(config.databaseUrl, null);
  assert.equal(config.front, "auto");
  assert.equal(config.frontThreads, 1);
  assert.equal(config.maxConnections, null);
  assert.equal(config.drainMs, 30_000);
  assert.equal(config.speechMemoryBytes, 2 ** 30);
  assert.deepEqual([config.modelPreload, config.modelIdleMs], [true, 900_000]);
  assert.deepEqual(
    [config.fileWorkers, config.liveWorkers, config.synthesisWorkers, config.ortThreads],
    [null, null, null, 1],
  );
  assert.equal(config.modelsDir, null);
  assert.deepEqual(config.urlFetchAllow, []);
  assert.deepEqual([config.operatorHost, config.operatorPort], ["127.0.0.1", 0]);
  assert.deepEqual(config.concurrency, {
    paid: { synthesis: 20, files: 10, live: 20 },
    free: { synthesis: 4, files: 2, live: 4 },
  });
});

test("the configuration cannot be changed", () => {
  const config = readConfig({});
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.urlFetchAllow));
});

test("settings are read from their variables", () => {
  const config = readConfig({
    HOST: "::",
    PORT: "0",
    DATA_DIR: "/srv/dauys",
    DATABASE_URL: "postgres://dauys:secret@db:5432/dauys",
    FRONT: "node",
    LIVE_WORKERS: "4",
    DRAIN_S: "0",
    MODEL_PRELOAD: "false",
    MODEL_IDLE_S: "0",
    MAX_CONNECTIONS: "500",
    SPEECH_MEMORY_MB: "300",
    URL_FETCH_ALLOW: "10.0.0.0/8, fd00::/8",
  });
  assert.equal(config.host, "::");
  assert.equal(config.port, 0);
  assert.equal(config.dataDir, "/srv/dauys");
  assert.equal(config.databaseUrl, "postgres://dauys:secret@db:5432/dauys");
  assert.equal(config.front, "node");
  assert.equal(config.liveWorkers, 4);
  assert.equal(config.maxConnections, 500);
  assert.equal(config.speechMemoryBytes, 300 * 2 ** 20);
  assert.equal(config.drainMs, 0);
  assert.deepEqual([config.modelPreload, config.modelIdleMs], [false, 0]);
  assert.deepEqual(config.urlFetchAllow, ["10.0.0.0/8", "fd00::/8"]);
});

test("the price of credits and the operator's contact are read when set", () => {
  const none = readConfig({});
  assert.deepEqual([none.creditPrice, none.operatorContact], [null, null]);
  const set = readConfig({ CREDIT_PRICE: "3/25000 KZT", OPERATOR_CONTACT: "https://example.org/buy" });
  assert.deepEqual(set.creditPrice, { amount: 3, credits: 25_000, currency: "KZT" });
  assert.equal(set.operatorContact, "https://example.org/buy");
  assert.equal(readConfig({ OPERATOR_CONTACT: "a@b.example" }).operatorContact, "a@b.example");
  for (const value of ["1 USD", "1/25000", "0/5 USD", "1/25000 usd", "1/25000 ABQ"])
    assert.throws(() => readConfig({ CREDIT_PRICE: value }), /CREDIT_PRICE must be a fraction of whole/);
  for (const value of [
    "http://example.org",
    "a@b",
    "a b@c.example",
    "a@b@c.example",
    "https://",
    "javascript:x",
  ])
    assert.throws(() => readConfig({ OPERATOR_CONTACT: value }), /OPERATOR_CONTACT must be an e-mail/);
});

test("proxies are trusted by network", () => {
  assert.deepEqual(readConfig({}).trustedProxies, []);
  const { trustedProxies } = readConfig({ TRUSTED_PROXIES: "127.0.0.1/32, fd00::/8" });
  assert.deepEqual(trustedProxies, ["127.0.0.1/32", "fd00::/8"]);
  for (const value of ["127.0.0.1", "127.0.0.0/33", "proxy.test/8", "fd00::/129", "127.0.0.1/"])
    assert.throws(() => readConfig({ TRUSTED_PROXIES: value }), /TRUSTED_PROXIES must be a comma-separated/);
});

test("FRONT=node permits only one front thread", () => {
  assert.equal(readConfig({ FRONT_THREADS: "2" }).frontThreads, 2);
  assert.equal(readConfig({ FRONT_THREADS: "1", FRONT: "node" }).frontThreads, 1);
  assert.throws(
    () => readConfig({ FRONT_THREADS: "2", FRONT: "node" }),
    /FRONT_THREADS must be 1 with FRONT=node, whose threads cannot share a port, received "2"/,
  );
});

test("gateways and engines need a bus, and a process that does everything rejects one", () => {
  const alone = readConfig({});
  assert.deepEqual([alone.role, alone.busServers], ["all", null]);
  const engine = readConfig({
    ROLE: "engine",
    BUS_URL: "nats://a:4222, tls://b:4222",
    LANE_WINDOW_KB: "256",
  });
  assert.deepEqual(engine.busServers, ["nats://a:4222", "tls://b:4222"]);
  assert.equal(engine.laneWindowBytes, 262_144);
  const { cell, zone, liveLanes, liveSessionsPerWorker, engineLostMs } = engine;
  assert.deepEqual(
    [cell, zone, liveLanes, liveSessionsPerWorker, engineLostMs],
    ["main", "main", 4, 150, 1_600],
  );
  for (const role of ["gateway", "engine"])
    assert.throws(() => readConfig({ ROLE: role }), new RegExp(`BUS_URL must be set with ROLE=${role}`));
  assert.throws(
    () => readConfig({ BUS_URL: "nats://a:4222" }),
    /ROLE must be gateway or engine with BUS_URL, received "all"/,
  );
  const served = { ROLE: "gateway", BUS_URL: "tls://a:4222" };
  assert.throws(() => readConfig(served), /KEY_PEPPER must be set with BUS_URL, received none/);
  const gateway = { ...served, KEY_PEPPER: "a pepper of 21 letters", BUS_TLS_CERT: "cert.pem" };
  assert.throws(() => readConfig(gateway), /BUS_TLS_CERT and BUS_TLS_KEY must be set together, received one/);
  const both = readConfig({ ...gateway, BUS_TLS_KEY: "key.pem" });
  assert.deepEqual(both.busTls, { caFile: null, certFile: resolve("cert.pem"), keyFile: resolve("key.pem") });
});

const BROKEN: readonly [name: string, value: string, rule: RegExp][] = [
  ["PORT", "65536", /PORT must be a whole number from 0 to 65535, received "65536"/],
  ["MAX_CONNECTIONS", "0", /MAX_CONNECTIONS must be a whole number from 1 to \d+, received "0"/],
  ["FRONT_THREADS", "0", /FRONT_THREADS must be a whole number from 1 to \d+, received "0"/],
  ["PORT", "80a", /PORT .* received "80a"/],
  ["PORT", "-1", /PORT .* received "-1"/],
  ["PORT", "1e3", /PORT .* received "1e3"/],
  ["HOST", "http://localhost", /HOST must be an IP address or a host name .* received "http:\/\/localhost"/],
  ["FRONT", "uWS", /FRONT must be one of auto, uws, node, received "uWS"/],
  ["LOG_LEVEL", "verbose", /LOG_LEVEL must be one of .*received "verbose"/],
  ["LIVE_WORKERS", "0", /LIVE_WORKERS must be auto or a whole number from 1 to \d+, received "0"$/],
  ["FILE_WORKERS", "Auto", /FILE_WORKERS must be auto or a whole number from 1 to \d+, received "Auto"$/],
  ["SPEECH_MEMORY_MB", "0", /SPEECH_MEMORY_MB must be a whole number from 1 to 1000000, received "0"/],
  ["MODEL_PRELOAD", "yes", /MODEL_PRELOAD must be one of true, false, received "yes"/],
  ["MODEL_IDLE_S", "1000001", /MODEL_IDLE_S must be a whole number from 0 to 1000000, received "1000001"/],
  ["FREE_LIVE_PER_ORG", "-1", /FREE_LIVE_PER_ORG must be a whole number from 0 to 100000, received "-1"/],
  ["OPERATOR_PORT", "x", /OPERATOR_PORT must be a whole number/],
  ["DRAIN_S", "1.5", /DRAIN_S must be a whole number/],
  ["ROLE", "front", /ROLE must be one of all, gateway, engine, received "front"/],
  ["BUS_URL", "http://secret@bus", /BUS_URL must be addresses like nats:.*, received 17 characters/],
  ["BUS_URL", "nats://a:4222,", /BUS_URL must be addresses like nats:/],
  ["CELL", "Main", /CELL must be 1 to 40 lower-case letters, digits and dashes, received "Main"/],
  ["ZONE", "a.b", /ZONE must be 1 to 40 lower-case letters/],
  ["LIVE_LANES", "25", /LIVE_LANES must be a whole number from 1 to 24, received "25"/],
  ["LIVE_SESSIONS_PER_WORKER", "0", /LIVE_SESSIONS_PER_WORKER must be a whole number from 1 to 100000/],
  ["LANE_WINDOW_KB", "127", /LANE_WINDOW_KB must be a whole number from 128 to 32768, received "127"/],
  ["ENGINE_LOST_MS", "500", /ENGINE_LOST_MS must be a whole number from 600 to 60000, received "500"/],
  ["URL_FETCH_ALLOW", "10.0.0.0/33", /URL_FETCH_ALLOW must be .* received "10.0.0.0\/33"/],
  ["URL_FETCH_ALLOW", "10.0.0.1", /URL_FETCH_ALLOW/],
];

for (const [name, value, rule] of BROKEN) {
  test(`${name}=${value} is rejected by name, rule and value`, () => {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error) => error instanceof ConfigError && rule.test(error.message),
    );
  });
}

test("every setting has one name, a meaning, a rule and a valid default", () => {
  const names = SETTINGS.map(({ name }) => name);
  assert.deepEqual([...new Set(names)], names);
  assert.ok(names.length > 30);
  for (const { name, otherwise, means, rule } of SETTINGS) {
    assert.ok(otherwise !== "" && means !== "" && rule !== "", name);
    // Other defaults are a phrase with a space, or "none".
    if (/ |^none$/.test(otherwise)) continue;
    assert.deepEqual(readConfig({ [name]: otherwise }), readConfig({}), name);
  }
});

test("providers are ordered lists, per engine or for all", () => {
  const config = readConfig({ EXECUTION_PROVIDERS: "cuda, cpu", LIVE_EXECUTION_PROVIDERS: "cpu" });
  assert.deepEqual(config.executionProviders, ["cuda", "cpu"]);
  assert.deepEqual(config.liveExecutionProviders, ["cpu"]);
  assert.equal(config.synthesisExecutionProviders, null);
  assert.deepEqual(readConfig({}).executionProviders, ["cpu"]);
  assert.deepEqual(readConfig({ DEVICE_ID: "1,0" }).deviceIds, [1, 0]);
});

const WRONG_PLACES: readonly [name: string, value: string, end: RegExp][] = [
  ["EXECUTION_PROVIDERS", "cuad,cpu", /, received "cuad": did you mean cuda\?$/],
  ["EXECUTION_PROVIDERS", "CPU", /, received "CPU": did you mean cpu\?$/],
  ["EXECUTION_PROVIDERS", "tensorrt", / a comma-separated list of cpu, cuda, .*, received "tensorrt"$/],
  ["EXECUTION_PROVIDERS", "cuda,cpu,cuda", /, received "cuda": it is listed twice$/],
  ["FILE_EXECUTION_PROVIDERS", "cuda,", /, received "": an entry is empty$/],
  ["DEVICE_ID", "0,x", /must be a comma-separated list of whole numbers from 0 to 63, .*, received "x"$/],
  ["DEVICE_ID", "64", /, received "64"$/],
  ["DEVICE_ID", "1,1", /, received "1": it is listed twice$/],
];
for (const [name, value, end] of WRONG_PLACES) {
  test(`${name}=${value} is rejected with the invalid entry`, () => {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error) => error instanceof ConfigError && error.message.startsWith(name) && end.test(error.message),
    );
  });
}

test("only the invalid network of a list is reported", () => {
  assert.throws(
    () => readConfig({ URL_FETCH_ALLOW: "10.0.0.0/8, 10.0.0.1" }),
    /URL_FETCH_ALLOW must be a comma-separated list of networks such as 10.0.0.0\/8, received "10.0.0.1"$/,
  );
});

const SECRET: readonly [name: string, value: string][] = [
  ["DEV_API_KEY", "sk-svc-SECRET"],
  ["KEY_PEPPER", "SECRET"],
  ["DATABASE_URL", "mysql://user:SECRET@db/x"],
];

for (const [name, value] of SECRET) {
  test(`an invalid ${name} is rejected without showing it`, () => {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error) =>
        error instanceof ConfigError && error.message.startsWith(name) && !error.message.includes("SECRET"),
    );
  });
}
