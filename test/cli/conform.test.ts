import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { LIVE_CASES } from "../../src/conformance/live-cases.js";
import { SPEECH_CASES } from "../../src/conformance/speech-cases.js";
import { dauysInTurn } from "../support/command-process.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { dauys } from "./support.js";

let service: ServiceProcess;
let env: Readonly<Record<string, string>>;

before(async () => {
  service = await startServiceProcess();
  env = { DAUYS_API_KEY: service.key };
});
after(async () => {
  assert.equal(await service.stop(), 0);
});

test("prints a table of the selected cases, with the bound and the credits used", async () => {
  const { code, stdout, stderr } = await dauys(["conform", service.url, "--filter", "final is never"], {
    env,
  });
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^passed +live-39 +a final is never revised +Server to client\n1 passed, 0 failed, 0 skipped\n$/,
  );
  assert.match(
    stderr,
    /^1 cases against http:\/\/127\.0\.0\.1:\d+, at most (\d+) credits\n(\d+) credits used\n$/,
  );
  const [, most, used] = /most (\d+) credits\n(\d+)/.exec(stderr)!;
  assert.ok(Number(used) > 0 && Number(used) <= Number(most));
});

test("prints a report as JSON, and takes the address from --url", async () => {
  const args = ["conform", "--url", service.url, "--filter", "unknown", "--json"];
  const { code, stdout, stderr } = await dauysInTurn(args, { env });
  assert.equal(code, 0, stderr);
  const { url, passed, failed, cases, ...credits } = JSON.parse(stdout);
  assert.deepEqual([url, failed, cases.length], [service.url, 0, passed]);
  assert.deepEqual(Object.keys(credits), ["skipped", "credits_at_most", "credits_used"]);
  assert.deepEqual(Object.keys(cases[0]), ["id", "page", "section", "requirement", "status"]);
});

test("a server of another kind fails the cases, shows what arrived, and exits with 1", async () => {
  const other = createServer((_request, response) => response.writeHead(418).end("teapot"));
  await new Promise<void>((settle) => other.listen(0, "127.0.0.1", settle));
  const { port } = other.address() as { readonly port: number };
  const args = ["conform", `http://127.0.0.1:${port}`, "--filter", "live-1", "--key", "sk-svc-1"];
  const { code, stdout, stderr } = await dauysInTurn(args);
  other.close();
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^failed {2,}live-1 .*\n {2}expected: an open socket\n {2}received: status 418: teapot$/m,
  );
  assert.match(stderr, /\nthe server reports no balance\ndauys: \d+ of \d+ cases failed\n$/);
});

test("long cases are skipped with a reason", async () => {
  const { code, stdout } = await dauysInTurn(["conform", service.url, "--filter", "after 60 s"], { env });
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^skipped .*\n {2}takes a minute or many credits: add --all\n0 passed, 0 failed, 1 skipped\n$/,
  );
});

test("lists all cases without a service or a key", async () => {
  const { code, stdout } = await dauysInTurn(["conform", "--list", "--json"]);
  const ids = (JSON.parse(stdout) as readonly { readonly id: string }[]).map(({ id }) => id);
  assert.deepEqual([code, ids], [0, [...LIVE_CASES, ...SPEECH_CASES].map(({ id }) => id)]);
});

test("rejects a filter without cases, a second address, and a server that cannot be reached", async () => {
  const none = await dauysInTurn(["conform", service.url, "--filter", "unheard of"], { env });
  assert.deepEqual(
    [none.code, none.stderr.split("\n")[0]],
    [2, 'dauys: no case contains "unheard of"; see `dauys conform --list`'],
  );
  const twice = await dauysInTurn(["conform", service.url, "--url", service.url], { env });
  assert.match(twice.stderr, /^dauys: give the URL once: as argument or as --url\n/);
  const gone = await dauysInTurn(["conform", "http://127.0.0.1:1", "--filter", "live-1"], { env });
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /dauys: cannot reach the service .*ECONNREFUSED/);
});
