import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const EMAIL = "aida@example.org";
const RESET = ["users", "reset-password", EMAIL];

let folder: string;
let dataDir: string;
let service: ServiceProcess;

before(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder, "data");
  service = await startServiceProcess({ DATA_DIR: dataDir, MODEL_PRELOAD: "false" });
  const answer = await fetch(`${service.url}/console/api/sign-up`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
    body: JSON.stringify({ email: EMAIL, password: "correct horse battery", organization: "Tilmash" }),
  });
  assert.equal(answer.status, 201);
});
after(() => service.stop());

const linkOf = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> => {
  const { code, stdout, stderr } = await dauysInTurn([...RESET, ...args], {
    env: { DATA_DIR: dataDir, ...env },
  });
  assert.equal(code, 0, stderr);
  return stdout.replace(/\/console\/reset#[A-Za-z0-9_-]{43}\n$/, "");
};

test("a link uses the address of the data folder's service", async () => {
  assert.equal(await linkOf([]), service.url);
  const link = (await dauysInTurn([...RESET, "--json"], { env: { DATA_DIR: dataDir } })).stdout;
  assert.ok(JSON.parse(link).link.startsWith(`${service.url}/console/reset#`));
});

test("--url and DAUYS_URL override PORT and HOST, which override the data folder", async () => {
  assert.equal(await linkOf([], { PORT: "9123" }), "http://127.0.0.1:9123");
  assert.equal(await linkOf([], { PORT: "9123", HOST: "0.0.0.0" }), "http://127.0.0.1:9123");
  assert.equal(await linkOf([], { PORT: "9123", HOST: "::1" }), "http://[::1]:9123");
  assert.equal(await linkOf([], { PORT: "0" }), service.url, "any free port: only the service knows which");
  const said = { PORT: "9123", DAUYS_URL: "https://speech.example.test/base/" };
  assert.equal(await linkOf([], said), "https://speech.example.test/base");
  assert.equal(await linkOf(["--url", "https://other.example.test"], said), "https://other.example.test");
  const wrong = await dauysInTurn([...RESET, "--url", "speech.example.test"], { env: { DATA_DIR: dataDir } });
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
});

test("a local link comes with a warning that others may not reach it", async () => {
  const own = await dauysInTurn(RESET, { env: { DATA_DIR: dataDir } });
  assert.match(own.stderr, /others may not reach; set --url or DAUYS_URL/);
  const said = await dauysInTurn([...RESET, "--url", "https://speech.example.test"], {
    env: { DATA_DIR: dataDir },
  });
  assert.doesNotMatch(said.stderr, /others/);
});

test("other commands find the service, too", async () => {
  const output = join(folder, "said.wav");
  const said = await dauysInTurn(["speak", "Сәлем!", "-o", output, "--nfe", "4", "--json"], {
    env: { DATA_DIR: dataDir, DAUYS_API_KEY: service.key },
  });
  assert.equal(said.code, 0, said.stderr);
  const { characters, credits } = JSON.parse(said.stdout);
  assert.deepEqual([characters, credits], [6, 3]);
  assert.equal((await readFile(output)).toString("latin1", 0, 4), "RIFF");
});

test("a stopped service leaves no address", async () => {
  assert.equal(await service.stop(), 0);
  assert.equal(existsSync(join(dataDir, "address")), false);
  assert.equal(await linkOf([]), "http://127.0.0.1:8080");
});
