import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OPEN_PATHS, SIGNED_IN_PATHS } from "../../src/console/paths.js";
import { pageRoutes } from "../../src/console/server/pages-routes.js";
import { sampleRoutes } from "../../src/console/server/sample-routes.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";

for (const front of FRONTS) {
  let running: RunningTransport;
  before(async () => {
    const folder = "models/svc-kk-v1";
    const samples = sampleRoutes([
      { name: "first", folder, voices: ["aigul", "nobody", "../samples/saule"] },
      { name: "second", folder, voices: ["timur"] },
    ]);
    running = await startTransport(front, { extraRoutes: [...pageRoutes(), ...samples] });
  });
  after(() => running.stop());
  const get = (path: string, headers: Record<string, string> = {}) => fetch(running.base + path, { headers });

  test(`${front}: every path of the console returns the page without inline scripts`, async () => {
    for (const path of ["/console", "/console/", "/console/keys", "/console/join"]) {
      const answer = await get(path);
      assert.equal(answer.status, 200, path);
      const policy = answer.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
      assert.equal(answer.headers.get("access-control-allow-origin"), null);
      const html = await answer.text();
      const scripts = [...html.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)];
      assert.equal(scripts.length, 1);
      for (const [, attributes = "", content] of scripts) {
        assert.match(attributes, / src="\/console\/assets\/[\w-]+\.js"/);
        assert.equal(content, "");
      }
      assert.ok(!/ (on\w+|style)=/.test(html), "nothing inline");
    }
  });

  test(`${front}: other paths than those of the console's pages return 404`, async () => {
    for (const path of [...SIGNED_IN_PATHS, ...OPEN_PATHS]) {
      for (const end of ["", "/"]) assert.equal((await get(`/console/${path}${end}`)).status, 200, path);
    }
    for (const path of ["nope", "keys/nope", "Keys", "%6Bey", "console"]) {
      const answer = await get(`/console/${path}`);
      assert.equal(answer.status, 404, path);
      assert.match(await answer.text(), /^<!doctype html>/i, "an HTML page");
      assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
    }
  });

  test(`${front}: assets are compressed and immutable, unknown assets return 404`, async () => {
    const html = await (await get("/console")).text();
    const script = /src="([^"]+\.js)"/.exec(html)?.[1] ?? "";
    const sizes: number[] = [];
    for (const encoding of ["identity", "gzip", "br"]) {
      const answer = await get(script, { "accept-encoding": encoding });
      assert.equal(answer.headers.get("content-encoding"), encoding === "identity" ? null : encoding);
      assert.match(answer.headers.get("cache-control") ?? "", /immutable/);
      sizes.push(Number(answer.headers.get("content-length")));
      assert.match(await answer.text(), /customElements|document/);
    }
    assert.ok(sizes[2]! < sizes[1]! && sizes[1]! < sizes[0]!, sizes.join(" "));
    for (const path of [
      "/console/assets/none.js",
      "/console/..%2fpackage.json",
      "/console/%2e%2e/src/main.js",
    ]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  test(`${front}: voices have the samples of their model`, async () => {
    const listed = await get("/console/samples");
    assert.deepEqual(await listed.json(), { voices: ["aigul"] });
    const others = await get("/console/samples?model=second");
    assert.deepEqual(await others.json(), { voices: ["timur"] });
    assert.equal((await get("/console/samples/timur?model=second")).status, 200);
    assert.equal((await get("/console/samples?model=third")).status, 404);
    const sample = await get("/console/samples/aigul");
    assert.equal(sample.headers.get("content-type"), "audio/ogg");
    const sound = Buffer.from(await sample.arrayBuffer());
    assert.deepEqual(sound, readFileSync("models/svc-kk-v1/samples/aigul.ogg"));
    for (const path of ["nobody", "%e0", "..%2fsamples%2fsaule"]) {
      const answer = await get(`/console/samples/${path}`);
      assert.notEqual(answer.headers.get("content-type"), "audio/ogg", path);
    }
  });
}

test("without a build, the console explains how to build it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dauys-pages-"));
  const bare = await startTransport("node", { extraRoutes: pageRoutes(folder) });
  try {
    const answer = await fetch(`${bare.base}/console`);
    assert.equal(answer.status, 404);
    assert.match(((await answer.json()) as { detail: string }).detail, /npm run build/);
  } finally {
    await bare.stop();
    await rm(folder, { recursive: true });
  }
});
