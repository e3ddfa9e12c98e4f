import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DCLinter } from "dclint";
import dockerfilelint from "dockerfilelint";
import { readConfig, SETTINGS } from "../../src/settings/settings.js";
import { ROOT, read, repositoryFiles } from "../docs/markdown.js";
import { documentsOf } from "./kustomize.js";

const NAMES = new Set(SETTINGS.map(({ name }) => name));
/** Variables of the system, of Node, and of NVIDIA's runtime. */
const OTHERS = new Set(["NODE_ENV", "MALLOC_TRIM_THRESHOLD_", "LD_LIBRARY_PATH", "ONNXRUNTIME_NODE_INSTALL"]);
const DOCKERFILES = ["Dockerfile", "deploy/cuda.Dockerfile"];
const COMPOSE = "deploy/compose.yaml";
/** Seconds that workers and settlements may take after DRAIN_S. */
const STOP_SECONDS = 20;

/** Replaces `ARG` names with their defaults, because the linter does not resolve them. */
function resolved(dockerfile: string): string {
  const text = read(dockerfile);
  const defaults = new Map(
    [...text.matchAll(/^ARG (\w+)="?([^"\n]*)"?$/gm)].map(([, name, value]) => [name!, value!]),
  );
  return text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => defaults.get(name) ?? whole);
}

/** Returns the names and values of `ENV` instructions. */
function environmentOf(dockerfile: string): Record<string, string> {
  const [, block = ""] = /^ENV ((?:.*\\\n)*.*)$/m.exec(read(dockerfile)) ?? [];
  return Object.fromEntries([...block.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]));
}

for (const dockerfile of DOCKERFILES) {
  test(`dockerfilelint finds nothing in ${dockerfile}`, () => {
    const found = dockerfilelint.run(ROOT, resolved(dockerfile));
    // The linter mistakes `--start-period` for an option `--start`.
    const own = found.filter(
      ({ line, rule }) => rule !== "invalid_format" || !isHealthCheck(dockerfile, line),
    );
    assert.deepEqual(own, []);
    assert.notDeepEqual(dockerfilelint.run(ROOT, "FROM debian\nRUNN true\n"), [], "the linter finds faults");
  });

  test(`every variable of ${dockerfile} is a setting with a valid value`, () => {
    const environment = environmentOf(dockerfile);
    const settings = Object.keys(environment).filter(
      (name) => !OTHERS.has(name) && !name.startsWith("NVIDIA_"),
    );
    assert.ok(settings.length >= 1);
    assert.deepEqual(
      settings.filter((name) => !NAMES.has(name)),
      [],
    );
    readConfig(environment);
  });
}

function isHealthCheck(dockerfile: string, line: number): boolean {
  const lines = read(dockerfile).split("\n");
  return lines[line - 1]?.startsWith("HEALTHCHECK") === true;
}

test("the image exposes the ports of its settings, runs as an unprivileged user, and copies existing files", () => {
  const text = read("Dockerfile");
  const { PORT, OPERATOR_PORT, DATA_DIR } = environmentOf("Dockerfile");
  assert.match(text, new RegExp(`^EXPOSE ${PORT} ${OPERATOR_PORT}$`, "m"));
  assert.match(text, new RegExp(`^VOLUME ${DATA_DIR}$`, "m"));
  assert.match(text, /^USER 10001:10001$/m);
  assert.match(text, /^STOPSIGNAL SIGTERM$/m);
  const [, program = ""] = /^HEALTHCHECK[^[]*\["node", "([^"]+)"\]$/m.exec(text) ?? [];
  for (const path of [program, ".npmrc", "package-lock.json"]) assert.ok(existsSync(join(ROOT, path)), path);
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = ""]) =>
    from.split(" "),
  );
  for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path);
});

test("the image contains the sources of the build and the shipped models, but no state and no tests", () => {
  const lines = read(".dockerignore").split("\n");
  const taken = lines.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  for (const path of taken) assert.ok(existsSync(join(ROOT, path)), path);
  for (const path of ["src", "actors", "native", "core", "models", "scripts", "docs", "bin", "tsconfig.json"])
    assert.ok(taken.includes(path), path);
  for (const path of ["test", "bench", "data", "node_modules", ".git"])
    assert.ok(!taken.includes(path), path);
  assert.ok(repositoryFiles().some((path) => path.startsWith("models/svc-kk-v1/")));
});

test("dclint finds nothing in the compose file", () => {
  // The image is built here, or pulled from CI's registry.
  const rules = { "no-build-and-image": 0 } as const;
  const linter = new DCLinter({ rules, quiet: false, debug: false, exclude: [] });
  const results = linter.lintFiles([join(ROOT, COMPOSE)], false) as { readonly messages: readonly Found[] }[];
  const messages = results.flatMap((result) => result.messages);
  assert.deepEqual(
    messages.map(({ line, rule, message }) => `${line}: ${rule}: ${message}`),
    [],
  );
});

test("the fleet's variables make the service a gateway on the bus of the profile", () => {
  const variables = Object.fromEntries(
    [...read("deploy/fleet.env").matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );
  const { services } = composeFile();
  const environment = Object.entries(services["dauys"]!.environment).map(([name, value]) => {
    const given = /^\$\{(\w+):-/.exec(value ?? "")?.[1];
    return [name, given !== undefined && given in variables ? variables[given] : withDefaults(value ?? "")];
  });
  // As in the first lines of the file.
  const pepper = { KEY_PEPPER: "made by openssl rand -hex 32" };
  const gateway = readConfig({ ...Object.fromEntries(environment), ...pepper });
  const engine = readConfig(
    Object.fromEntries(
      Object.entries(services["engine"]!.environment).map(([name, value]) => [
        name,
        withDefaults(value ?? ""),
      ]),
    ),
  );
  assert.deepEqual([gateway.role, engine.role], ["gateway", "engine"]);
  assert.deepEqual(gateway.busServers, engine.busServers);
  const ofProfile = Object.values(services).filter(({ profiles = [] }) => profiles.includes("fleet"));
  assert.equal(variables["COMPOSE_PROFILES"], "fleet");
  assert.equal(ofProfile.length, 2);
});

test("every setting of the compose file exists and has a valid value", () => {
  const compose = composeFile();
  const ours = Object.entries(compose.services).filter(([, { image }]) => image.includes("DAUYS_IMAGE"));
  assert.ok(ours.length >= 1);
  for (const [name, { environment, stop_grace_period, volumes = [] }] of ours) {
    const settings = Object.fromEntries(
      Object.entries(environment).map(([setting, value]) => [setting, withDefaults(value ?? "")]),
    );
    assert.deepEqual(
      Object.keys(settings).filter((setting) => !NAMES.has(setting)),
      [],
      name,
    );
    const { drainMs } = readConfig({ ...environmentOf("Dockerfile"), ...settings });
    assert.ok(Number.parseInt(stop_grace_period, 10) >= drainMs / 1_000 + STOP_SECONDS, name);
    for (const volume of volumes) assert.ok(volume.split(":")[0]! in compose.volumes, volume);
  }
});

/** A finding of dclint, whose own types do not resolve. */
interface Found {
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly environment: Readonly<Record<string, string | null>>;
        readonly stop_grace_period: string;
        readonly volumes?: readonly string[];
        readonly profiles?: readonly string[];
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

function composeFile(): Compose {
  const [document] = documentsOf(join(ROOT, COMPOSE));
  return document as Compose;
}

/** Returns the default of a variable that the user has not set. */
function withDefaults(value: string): string {
  return value.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1");
}
