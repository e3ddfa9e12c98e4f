import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { listenSamples, speakSamples, transcribeSamples } from "../../src/console/pages/ui/sample-code.js";
import { speechAsWavFile } from "../support/audio.js";
import { launchChromium } from "../support/chromium.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { installPacked, type PackedProject, run } from "./packed-project.js";
import { DIALOGUE } from "./support.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SPOKEN = "asterisk-ru-core/conf-getconfno.flac";
const DIALOGUE_BYTES = Buffer.from(DIALOGUE.buffer, DIALOGUE.byteOffset, DIALOGUE.byteLength);
/** The dialogue lasts about 10 s. A program that has printed no results by then is ended. */
const LISTENED_MS = 180_000;
/** Synthesis loads models, which on a busy machine takes longer than Playwright waits by default. */
const PATIENCE_MS = 180_000;
const FOR_NODE = ["--module", "nodenext", "--types", "node"];

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
const USED = "6,string,6,text_required";
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
import { use } from "./use.js";

const [baseUrl = "", apiKey = ""] = location.hash.slice(1).split("%20").map(decodeURIComponent);
const client = new DauysClient({ baseUrl, apiKey });
const player = new SentencePlayer({ context: new AudioContext({ sampleRate: 24_000 }) });
const ended = new Promise<number>((settle) => player.on("ended", ({ durationSeconds }) => settle(durationSeconds)));
await player.play(client.speakStream({ text: "Сәлем!", nfe: 4 }));
const used = await use(client);
document.title = [used, (await ended) > 0].join(" ");
// @ts-expect-error: pages have no file paths
export const refused = client.transcribe({ path: "a.wav" }).catch(() => {});
`;

const NODE_SAMPLES = ["speak", "transcribe", "listen", "fromAddress"] as const;

let project: PackedProject;
let service: ServiceProcess;
/** The tracked manifest before packing. */
let manifestBefore: { readonly text: string; readonly writtenAtMs: number };
let nodeBuild: Promise<void> | null = null;

/** A recording as a WAV file. */
let recording: string;

before(async () => {
  recording = await speechAsWavFile(SPOKEN);
  manifestBefore = await readManifest();
  project = await installPacked();
  service = await startServiceProcess();
  await project.write("use.ts", USE);
});
after(async () => {
  assert.equal(await service?.stop(), 0);
  await project?.remove();
});

test("plain npm pack fails with a hint and leaves the manifest unchanged", async () => {
  const refused = await run("npm", ["pack", "--dry-run"], { cwd: ROOT }).catch((error: Error) => error);
  assert.match(String((refused as { stderr?: unknown }).stderr), /use `npm run pack`/);
  assert.ok(refused instanceof Error, "npm pack has packed the service");
  assert.deepEqual(await readManifest(), manifestBefore);
});

test("an installation has ws as its only dependency, without scripts and models", async () => {
  const installed = (await readdir(join(project.folder, "node_modules"))).filter((name) => /^\w/.test(name));
  assert.deepEqual(installed.sort(), ["dauys", "undici-types", "ws"]);
  const folder = join(project.folder, "node_modules/dauys");
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  assert.deepEqual([Object.keys(manifest.dependencies), manifest.scripts], [["ws"], undefined]);
  const names = await readdir(folder, { recursive: true });
  assert.ok(names.includes(join("dist", "src", "client", "browser.d.ts")));
  assert.deepEqual(
    names.filter((name) => /^models|^dist\/(test|bench)|src\/(store|transport)\/|\.map$|\.onnx$/.test(name)),
    [],
  );
});

test("the package contains every file that it imports", async () => {
  const folder = join(project.folder, "node_modules/dauys");
  const files = (await readdir(folder, { recursive: true })).filter((name) => /\.js$|\.d\.ts$/.test(name));
  assert.ok(files.length > 30);
  for (const file of files) {
    const text = await readFile(join(folder, file), "utf8");
    // Operator commands load the rest with `import()`, which the package omits.
    for (const [, name = ""] of text.matchAll(/^(?:import|export)\b(?:[^;"]*\bfrom)? "([^"]+)";$/gm)) {
      const isThere = name.startsWith(".")
        ? existsSync(resolve(folder, dirname(file), name))
        : /^(node:|ws$)/.test(name);
      assert.ok(isThere, `${file} imports ${name}`);
    }
  }
});

test("the packed library type-checks with browser types alone and runs in Chromium", async () => {
  await project.write("in-page.ts", IN_PAGE);
  const libraries = ["--lib", "es2023,dom,dom.iterable,dom.asynciterable", "--types", ""];
  const page = [...libraries, "--module", "preserve", "--moduleResolution", "bundler", "--noEmit"];
  await project.compile(["use.ts", "in-page.ts"], page);
  await project.write("index.html", '<!doctype html><script type="module" src="./in-page.ts"></script>');
  await project.bundle();
  assert.match(await titleIn(join(project.folder, "dist")), new RegExp(`^${USED} true$`));
});

test("the packed library type-checks and runs in Node", async () => {
  await compiledForNode();
  const { stdout } = await runNode(["in-node.js", service.url, service.key, recording]);
  assert.equal(stdout.trim(), `${USED} true`);
});

test("the ten lines of docs/client.md work", async () => {
  const lines = (await tenLines()).split("\n").filter((line) => line.trim() !== "");
  assert.ok(lines.length > 5 && lines.length <= 10, `${lines.length} lines`);
  await compiledForNode();
  await cp(recording, join(project.folder, "tan.wav"));
  const options = { cwd: project.folder, env: environment(), timeout: LISTENED_MS };
  const child = spawn(process.execPath, ["ten-lines.js"], options);
  let output = "";
  child.stdin.end(DIALOGUE_BYTES);
  child.stdout.on("data", (bytes: Buffer) => {
    output += String(bytes);
  });
  child.stderr.on("data", (bytes: Buffer) => {
    output += String(bytes);
  });
  // The program ends when its loop ends.
  assert.deepEqual(await once(child, "close"), [0, null], output);
  assert.match(output, /^partial \S/m);
  assert.ok([...output.matchAll(/^final \S/gm)].length >= 4, output);
});

test("the file example of docs/client.md writes subtitles and another take", async () => {
  await compiledForNode();
  await cp(recording, join(project.folder, "tan.wav"));
  const { size } = await stat(recording);
  const { stdout } = await runNode(["files.js"]);
  assert.match(stdout, new RegExp(`^sent ${size} of ${size}$`, "m"));
  assert.match(stdout, /^charged \d+ left \d+$/m);
  assert.match(await readFile(join(project.folder, "tan.srt"), "utf8"), /^1\n00:00:0.,\d{3} --> /);
  assert.equal((await readFile(join(project.folder, "kaspi.wav"))).toString("latin1", 0, 4), "RIFF");
});

test("the playground's curl, client and Python code gives the page's results", async () => {
  await compiledForNode();
  const folder = join(project.folder, "samples");
  await cp(recording, join(folder, "it's.wav"));
  const samples = samplesOfPlayground();

  await runNode(["speak.js"], folder);
  assert.equal((await readFile(join(folder, "sentence-1.wav"))).toString("latin1", 0, 4), "RIFF");
  assert.match((await runNode(["transcribe.js"], folder)).stdout, /[а-я]+.*\[/s);
  const listening = spawn(process.execPath, ["listen.js"], { cwd: folder, env: environment() });
  listening.stdin.end(DIALOGUE_BYTES);
  let heard = "";
  listening.stdout.on("data", (bytes: Buffer) => {
    heard += String(bytes);
  });
  await once(listening, "close");
  assert.ok([...heard.matchAll(/^final \S/gm)].length >= 4, heard);

  for (const name of NODE_SAMPLES) await project.write(`samples/${name}.py`, samples[name].python);
  const python = (args: readonly string[]) => run("python3", [...args], { cwd: folder, env: environment() });
  await python(["speak.py"]);
  assert.equal((await readFile(join(folder, "speech.wav"))).toString("latin1", 0, 4), "RIFF");
  assert.match((await python(["transcribe.py"])).stdout, /[а-я]+/);
  // The live program needs a package that may be missing.
  await python(["-m", "py_compile", "listen.py", "fromAddress.py"]);

  const shell = (command: string) => run("bash", ["-c", command], { cwd: folder, env: environment() });
  await shell(samples.speak.curl);
  assert.equal((await readFile(join(folder, "speech.wav"))).toString("latin1", 0, 4), "RIFF");
  assert.ok(JSON.parse((await shell(samples.transcribe.curl)).stdout).words.length > 0);
  assert.match(JSON.parse((await shell(samples.listen.curl)).stdout).token, /^st-svc-/);
  // The service may not download from this address. The rejection shows that it has read the address.
  const local = transcribeSamples(
    service.url,
    { url: "http://127.0.0.1:1/a b.wav" },
    {
      model: "svc-kk-ru-v2",
      hotWords: ["айнұр", "алма:2"],
    },
  );
  assert.match((await shell(local.curl)).stdout, /cannot fetch the URL/);
  await project.write("samples/local.py", local.python);
  await assert.rejects(python(["local.py"]), /HTTP Error 400/);
});

test("the packaged command line speaks, transcribes, measures, and says where the operator commands are", async () => {
  const command = join(project.folder, "node_modules/.bin/dauys");
  const options = { cwd: project.folder, env: { ...environment(), DAUYS_URL: service.url } };
  await run(command, ["speak", "Сәлем!", "-o", "salem.wav"], options);
  const { stdout } = await run(command, ["transcribe", recording], options);
  assert.match(stdout, /[а-я]/);
  const conform = await run(command, ["conform", "--filter", "speech in binary messages"], options);
  assert.match(conform.stdout, /^passed .*\n1 passed, 0 failed, 0 skipped\n$/);
  const bench = ["bench", "--sessions", "1", "--minutes", "0.001", "--language", "ru", "-o", "first"];
  const measured = await run(command, bench, options);
  assert.match(measured.stdout, /^1 session, \d+ s: 1 started, 0 failed, 0 of 1 finals missing$/m);
  assert.ok(existsSync(join(project.folder, "first.html")));
  await mkdir(join(project.folder, "data"));
  await assert.rejects(run(command, ["orgs", "list"], options), /in the service's own folder/);
});

async function readManifest(): Promise<typeof manifestBefore> {
  const manifest = join(ROOT, "package.json");
  return { text: await readFile(manifest, "utf8"), writtenAtMs: (await stat(manifest)).mtimeMs };
}

/**
 * Compiles all programs for Node at once, because each run of the compiler would check Node's types again.
 */
function compiledForNode(): Promise<void> {
  nodeBuild ??= compileForNode();
  return nodeBuild;
}

async function compileForNode(): Promise<void> {
  const page = await readFile(join(ROOT, "docs/client.md"), "utf8");
  const [, files = ""] = /^## Files, subtitles, takes\n\n```ts\n(.*?)^```$/ms.exec(page) ?? [];
  await mkdir(join(project.folder, "samples"));
  const samples = samplesOfPlayground();
  const programs: Readonly<Record<string, string>> = {
    "in-node.ts": IN_NODE,
    "ten-lines.ts": (await tenLines()).replace("http://127.0.0.1:8080", service.url),
    "files.ts": files.replace("http://127.0.0.1:8080", service.url),
    ...Object.fromEntries(NODE_SAMPLES.map((name) => [`samples/${name}.ts`, samples[name].client])),
  };
  for (const [name, code] of Object.entries(programs)) await project.write(name, code);
  await project.compile(Object.keys(programs), FOR_NODE);
}

/** Returns the first program of docs/client.md. */
async function tenLines(): Promise<string> {
  const page = await readFile(join(ROOT, "docs/client.md"), "utf8");
  return /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? "";
}

function samplesOfPlayground() {
  return {
    speak: speakSamples(service.url, { text: "Сәлем! It's.", voice: "aigul", nfe: 4 }),
    transcribe: transcribeSamples(service.url, { name: "it's.wav" }),
    listen: listenSamples(service.url),
    fromAddress: transcribeSamples(service.url, { url: "https://example.org/a.wav" }),
  };
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, DAUYS_API_KEY: service.key };
}

function runNode(args: readonly string[], cwd = project.folder): Promise<{ readonly stdout: string }> {
  return run(process.execPath, [...args], { cwd, env: environment() });
}

/** Opens a built page. Returns the title that it sets. */
async function titleIn(folder: string): Promise<string> {
  const files = createServer(async ({ url = "/" }, response) => {
    const name = url === "/" ? "index.html" : url.slice(1);
    const body = await readFile(join(folder, name)).catch(() => null);
    const type = extname(name) === ".js" ? "text/javascript" : "text/html";
    response.writeHead(body === null ? 404 : 200, { "content-type": type }).end(body ?? "");
  });
  await once(files.listen(0, "127.0.0.1"), "listening");
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const faults: string[] = [];
    const failed = new Promise((settle) => page.once("pageerror", settle));
    page.on("pageerror", (error) => faults.push(error.message));
    const address = files.address();
    const port = typeof address === "object" ? address?.port : 0;
    const hash = [service.url, service.key].map(encodeURIComponent).join("%20");
    await page.goto(`http://127.0.0.1:${port}/#${hash}`);
    const isTitled = page.waitForFunction("document.title !== ''").catch(() => {});
    await Promise.race([isTitled, failed]);
    assert.deepEqual(faults, []);
    return await page.title();
  } finally {
    await browser.close();
    files.close();
  }
}
