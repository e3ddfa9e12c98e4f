import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ServiceProcess, startServiceProcess } from "../../bench/support/service-process.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const run = promisify(execFile);

const USE = `
import { ApiError, DauysClient, type LiveResult } from "dauys/client";

export async function use(client: DauysClient): Promise<string> {
  const { wav, usage } = await client.speak({ text: "Сәлем!", nfe: 4 });
  const { text } = await client.transcribe(wav, { timestamps: true });
  const live = client.live({ words: true });
  const results: LiveResult[] = [];
  const reading = (async () => {
    for await (const result of live) results.push(result);
  })();
  await live.send(new Int16Array(16_000));
  const done = await live.close();
  await reading;
  const refused: unknown = await client.speak({ text: "" }).catch((error: unknown) => error);
  if (!(refused instanceof ApiError)) throw new Error("it was not refused");
  return [usage.characters, typeof text, done.creditsCharged, refused.code].join();
}
`;
const IN_NODE = `
import { DauysClient } from "dauys/client";
import { use } from "./use.js";

const [baseUrl = "", apiKey = "", path = ""] = process.argv.slice(2);
const client = new DauysClient({ baseUrl, apiKey });
console.log(await use(client), (await client.transcribe({ path })).audio_seconds > 0);
`;
const IN_PAGE = `
import { DauysClient } from "dauys/client";
import { SentencePlayer } from "dauys/player";

const client = new DauysClient({ baseUrl: location.origin, streamToken: async () => "st-svc-" });
const player = new SentencePlayer({ context: new AudioContext({ sampleRate: 24_000 }) });
player.on("underrun", ({ positionSeconds }) => document.title = String(positionSeconds));
await player.play(client.speakStream({ text: "Сәлем!" }));
export const { text } = await client.transcribe(new File([], "a.wav"));
// @ts-expect-error: a page has no paths
await client.transcribe({ path: "a.wav" });
`;

let folder: string;
let service: ServiceProcess;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "dauys-packed-"));
  service = await startServiceProcess();
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], { cwd: ROOT });
  const [archive] = await readdir(folder);
  // The client needs nothing but ws, and that only in Node: an installation without the service's packages is enough.
  await mkdir(join(folder, "node_modules/dauys"), { recursive: true });
  const unpack = [
    "-xzf",
    join(folder, archive ?? ""),
    "-C",
    join(folder, "node_modules/dauys"),
    "--strip-components=1",
  ];
  await run("tar", unpack);
  await cp(join(ROOT, "node_modules/ws"), join(folder, "node_modules/ws"), { recursive: true });
  await writeFile(join(folder, "package.json"), '{"private":true,"type":"module"}');
  for (const [name, text] of [
    ["use.ts", USE],
    ["in-node.ts", IN_NODE],
    ["in-page.ts", IN_PAGE],
  ] as const) {
    await writeFile(join(folder, name), text);
  }
});
after(async () => {
  assert.equal(await service.stop(), 0);
  await rm(folder, { recursive: true, force: true });
});

async function compile(files: readonly string[], options: readonly string[]): Promise<void> {
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--target", "es2023", "--ignoreConfig"];
  const args = [TSC, ...files, ...strict, "--noEmitOnError", ...options];
  await run(process.execPath, args, { cwd: folder }).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  );
}

test("the packed library type-checks for pages, with the browser's types alone", async () => {
  const page = [
    "--lib",
    "es2023,dom,dom.iterable,dom.asynciterable",
    "--types",
    "",
    "--module",
    "preserve",
    "--noEmit",
  ];
  await compile(["use.ts", "in-page.ts"], [...page, "--moduleResolution", "bundler"]);
});

test("the packed library type-checks and runs in Node", async () => {
  await mkdir(join(folder, "node_modules/@types"));
  for (const name of ["@types/node", "undici-types"]) {
    await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  }
  await compile(["in-node.ts"], ["--module", "nodenext", "--types", "node"]);
  const fixture = join(ROOT, "test/fixtures/speech/asterisk-ru-core/conf-getconfno.wav");
  const args = ["in-node.js", service.url, service.key, fixture];
  const { stdout } = await run(process.execPath, args, { cwd: folder });
  assert.equal(stdout.trim(), "6,string,6,text_required true");
});

test("the package holds no test, no model and no source map", async () => {
  const names = await readdir(join(folder, "node_modules/dauys"), { recursive: true });
  assert.ok(names.includes(join("dist", "src", "client", "browser.d.ts")));
  assert.ok(names.includes(join("bin", "dauys.js")));
  assert.deepEqual(
    names.filter((name) => /^models|^dist\/(test|bench)|\.map$|\.onnx$/.test(name)),
    [],
  );
});
