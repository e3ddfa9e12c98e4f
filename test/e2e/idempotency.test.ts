import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import OpenAI5 from "openai-5";
import OpenAI6 from "openai-6";
import type { Sql } from "postgres";
import { connect } from "../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../src/store/postgres/embedded-postgres.js";
import { FRONTS } from "../http/running-transport.js";
import { brokenRules } from "../store/ledger/ledger-support.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { pace } from "../support/pace.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { SILENT } from "../support/silent-log.js";
import {
  assertRefused,
  assertReplayed,
  CASES,
  CREDITS,
  FILE,
  FILE_CREDITS,
  LONG_CREDITS,
  LONG_FILE,
  LONG_FILE_CREDITS,
  LONG_TEXT,
  listening,
  loseFirstAnswer,
  TEXT,
} from "./idempotency-cases.js";

let keyCount = 0;
const newKey = () => `order-${++keyCount}`;

for (const front of FRONTS) {
  describe(`idempotency keys on ${front}`, { concurrency: 1 }, () => {
    let dataDir: string;
    let models: Record<string, string>;
    let service: ServiceProcess;
    let sql: Sql;

    const start = async () => {
      service = await startServiceProcess({
        ...models,
        DATA_DIR: dataDir,
        FRONT: front,
        URL_FETCH_ALLOW: "127.0.0.1/32",
      });
      const connection = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
      sql = connect(connection as PostgresConnection, SILENT);
    };
    before(async () => {
      dataDir = await temporaryFolder();
      models = await lightModels();
      await start();
    });
    after(async () => {
      assert.deepEqual(await brokenRules(sql), []);
      await sql.end();
      assert.equal(await service.stop(), 0, service.output());
    });

    const post = (path: string, key: string | null, body: RequestInit["body"], init: RequestInit = {}) =>
      fetch(service.url + path, {
        method: "POST",
        headers: {
          authorization: `Bearer ${service.key}`,
          ...(key !== null && { "idempotency-key": key }),
          ...(typeof body === "string" && { "content-type": "application/json" }),
        },
        ...(body instanceof ReadableStream && { duplex: "half" }),
        ...(body !== undefined && { body }),
        ...init,
      });
    const speak = (key: string | null, init: RequestInit = {}, path = "/v1/tts") =>
      post(path, key, JSON.stringify({ text: TEXT, nfe: 4 }), init);
    const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());
    /** Returns the credits charged to the development organization once no hold remains. */
    const spent = async () => {
      let charged = 0;
      await eventually("no hold is in work", async () => {
        const [row] = await sql<{ held: number; charged: number }[]>`
          select held, (select coalesce(sum(amount), 0) from holds where organization_id = accounts.id) as charged
          from accounts where id = 'org_development'`;
        charged = row?.charged ?? Number.NaN;
        return row?.held === 0;
      });
      return charged;
    };
    /** Repeats a request until the previous attempt has released the key. */
    const persist = async (ask: () => Promise<Response>): Promise<Response> => {
      for (let tries = 0; tries < 100; tries++) {
        const answer = await ask();
        if (answer.status !== 409) return answer;
        await answer.arrayBuffer();
        await pace(100);
      }
      throw new Error("the key stayed in use");
    };

    for (const [index, { path, one, same, other, credits }] of CASES.entries()) {
      test(`${path} (${index}) gives the same bytes under the same key for one charge`, async () => {
        const before = await spent();
        const key = newKey();
        const first = await post(path, key, one());
        const bytes = await bytesOf(first);
        assert.equal(first.status, 200, bytes.toString("utf8", 0, 200));
        assert.equal(first.headers.get("idempotent-replayed"), null);
        assert.equal((await spent()) - before, credits);
        for (const body of [one(), same()]) {
          const again = await post(path, key, body);
          assert.ok((await bytesOf(again)).equals(bytes), "the same bytes");
          assertReplayed(again, first);
        }
        await assertRefused(await post(path, key, other()), 422, "idempotency_key_reused");
        assert.equal((await spent()) - before, credits);
      });
    }

    test("audio at a URL is fetched once", async () => {
      let fetches = 0;
      const server = createServer((_request, response) => {
        fetches++;
        response.end(FILE);
      });
      const address = `${await listening(server)}/speech.wav`;
      const [before, key] = [await spent(), newKey()];
      const ask = (url: string) => post(`/v1/transcribe?url=${encodeURIComponent(url)}`, key, undefined);
      const first = await ask(address);
      const bytes = await bytesOf(first);
      const again = await ask(address);
      assert.ok((await bytesOf(again)).equals(bytes));
      assertReplayed(again, first);
      await assertRefused(await ask(`${address}?v=2`), 422, "idempotency_key_reused");
      assert.equal(fetches, 1);
      assert.equal((await spent()) - before, FILE_CREDITS);
      server.close();
    });

    test("a repeated response in events contains only the result, and is charged once", async () => {
      const [before, key] = [await spent(), newKey()];
      const ask = (accept: string) =>
        fetch(`${service.url}/v1/transcribe`, {
          method: "POST",
          headers: { authorization: `Bearer ${service.key}`, "idempotency-key": key, accept },
          body: new Uint8Array(FILE),
        });
      const first = await (await ask("text/event-stream")).text();
      const result = first.slice(first.indexOf("event: result"));
      assert.match(first, /^event: progress\n/);
      const again = await ask("text/event-stream");
      assert.equal(again.headers.get("content-type"), "text/event-stream");
      assert.equal(again.headers.get("idempotent-replayed"), "true");
      assert.equal(await again.text(), result);
      await assertRefused(await ask("application/json"), 422, "idempotency_key_reused");
      assert.equal((await spent()) - before, FILE_CREDITS);
    });

    test("keys are separate for each path and have 1 to 255 printable characters", async () => {
      const key = newKey();
      await (await speak(key)).arrayBuffer();
      await assertRefused(await speak(key, {}, "/v1/tts/stream"), 422, "idempotency_key_reused");
      const longest = await speak("k ".repeat(127).trimEnd().padEnd(255, "~"));
      assert.equal(longest.status, 200);
      await longest.arrayBuffer();
      for (const wrong of ["k".repeat(256), "", "caf\u00e9 1", "a\tb"]) {
        await assertRefused(await speak(wrong), 400, "invalid_request");
        await assertRefused(
          await post("/v1/transcribe", wrong, new Uint8Array(FILE)),
          400,
          "invalid_request",
        );
      }
    });

    test("one of twenty simultaneous requests is charged; the others get its response or must wait", async () => {
      const [before, key] = [await spent(), newKey()];
      const answers = await Promise.all(Array.from({ length: 20 }, () => speak(key)));
      const made = answers.filter(
        ({ status, headers }) => status === 200 && headers.get("idempotent-replayed") === null,
      );
      assert.equal(made.length, 1);
      for (const answer of answers) {
        if (answer.status === 200) await answer.arrayBuffer();
        else {
          assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
          await assertRefused(answer, 409, "idempotency_key_in_use");
        }
      }
      assert.equal((await spent()) - before, CREDITS);
    });

    test("a client that left midway gets the whole response later, for one charge", async () => {
      const body = JSON.stringify({ text: LONG_TEXT, nfe: 16 });
      const [before, key, leaving] = [await spent(), newKey(), new AbortController()];
      const ask = (init: RequestInit = {}) => post("/v1/tts/stream", key, body, init);
      const cut = await ask({ signal: leaving.signal });
      const reader = cut.body!.getReader();
      await reader.read();
      await assertRefused(await ask(), 409, "idempotency_key_in_use");
      leaving.abort();
      await reader.closed.catch(() => {});
      const whole = await persist(ask);
      const bytes = await bytesOf(whole);
      assertReplayed(whole, cut);
      const unkeyed = await bytesOf(await post("/v1/tts/stream", null, body));
      assert.ok(bytes.equals(unkeyed), "nothing is missing");
      const replayed = await ask();
      assert.ok((await bytesOf(replayed)).equals(bytes));
      assertReplayed(replayed, cut);
      assert.equal((await spent()) - before, 2 * LONG_CREDITS);
    });

    test("a response deleted from the disk is produced again for free", async () => {
      const [before, key, fileKey] = [await spent(), newKey(), newKey()];
      const first = await speak(key);
      const bytes = await bytesOf(first);
      const transcribe = () => post("/v1/transcribe", fileKey, new Uint8Array(FILE));
      const firstFile = await transcribe();
      await firstFile.arrayBuffer();
      const folder = join(dataDir, "answers");
      assert.ok((await readdir(folder)).includes(first.headers.get("x-request-id")!));
      for (const name of await readdir(folder)) await rm(join(folder, name));
      await sql`update idempotency_keys set answer_body = null`;
      const again = await speak(key);
      assert.ok((await bytesOf(again)).equals(bytes), "the same samples");
      assertReplayed(again, first);
      const againFile = await transcribe();
      assert.equal(((await againFile.json()) as { credits_charged: number }).credits_charged, FILE_CREDITS);
      assertReplayed(againFile, firstFile);
      assertReplayed(await transcribe(), firstFile);
      assert.equal((await spent()) - before, CREDITS + FILE_CREDITS);
    });

    test("different audio behind a paid url is not transcribed for free", async () => {
      const files = [FILE, LONG_FILE, FILE, FILE, LONG_FILE];
      const server = createServer((_request, response) => response.end(files.shift()));
      const path = `/v1/transcribe?url=${encodeURIComponent(`${await listening(server)}/speech.wav`)}`;
      const [before, key] = [await spent(), newKey()];
      const ask = () => persist(() => post(path, key, undefined));
      const first = await ask();
      const bytes = await bytesOf(first);
      assert.equal(first.status, 200);
      // Remove the stored responses, as if other responses had evicted them.
      const loseAnswers = () => sql`update idempotency_keys set answer_body = null`;
      await loseAnswers();
      await assertRefused(await ask(), 422, "idempotency_key_reused");
      const again = await ask();
      assertReplayed(again, first);
      assert.equal(((await again.json()) as { text: string }).text, JSON.parse(bytes.toString()).text);
      await loseAnswers();
      const oncemore = await ask();
      await oncemore.arrayBuffer();
      assertReplayed(oncemore, first);
      await loseAnswers();
      await assertRefused(await ask(), 422, "idempotency_key_reused");
      assert.equal((await spent()) - before, FILE_CREDITS);
      server.close();
    });

    test("for audio that an earlier version did not record, only the difference is charged", async () => {
      const files = [FILE, LONG_FILE];
      const server = createServer((_request, response) => response.end(files.shift()));
      const path = `/v1/transcribe?url=${encodeURIComponent(`${await listening(server)}/speech.wav`)}`;
      const [before, key] = [await spent(), newKey()];
      const first = await post(path, key, undefined);
      await first.arrayBuffer();
      await sql`update idempotency_keys set answer_body = null, audio_sha256 = null`;
      const longer = await persist(() => post(path, key, undefined));
      await longer.arrayBuffer();
      assert.equal(longer.status, 200);
      assert.equal(longer.headers.get("idempotent-replayed"), null);
      assert.equal(longer.headers.get("original-request"), first.headers.get("x-request-id"));
      assert.equal(longer.headers.get("x-svc-credits"), String(LONG_FILE_CREDITS));
      assert.equal((await spent()) - before, LONG_FILE_CREDITS);
      server.close();
    });

    test("a rejected request keeps its key for the same body", async () => {
      const key = newKey();
      const noise = new Uint8Array(1_000).fill(7);
      for (let i = 0; i < 2; i++) {
        const refused = await persist(() => post("/v1/transcribe", key, noise));
        assert.equal(refused.status, 400);
        assert.equal(refused.headers.get("idempotent-replayed"), null);
      }
      const other = await persist(() => post("/v1/transcribe", key, new Uint8Array(FILE)));
      await assertRefused(other, 422, "idempotency_key_reused");
      const unread = newKey();
      assert.equal((await post("/v1/tts", unread, "{")).status, 400);
      assert.equal((await speak(unread)).status, 200, "what was never understood has no key");
    });

    test("a day later the key counts as new, and the work is charged again", async () => {
      const [before, key] = [await spent(), newKey()];
      await (await speak(key)).arrayBuffer();
      await sql`update idempotency_keys set created_at = now() - interval '25 hours'`;
      const next = await speak(key);
      await next.arrayBuffer();
      assert.equal(next.headers.get("idempotent-replayed"), null);
      assert.equal((await spent()) - before, 2 * CREDITS);
      await sql`update idempotency_keys set created_at = now() - interval '25 hours'`;
      await eventually("the sweep removes it", async () => {
        return (await sql`select from idempotency_keys`).length === 0;
      });
    });

    test("a response that used the last credits is repeated without credits", async () => {
      const operator = async (...args: readonly string[]) => {
        const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
          env: { DATA_DIR: dataDir },
        });
        assert.equal(code, 0, stderr);
        return JSON.parse(stdout) as { readonly id: string; readonly key: string };
      };
      const { id } = await operator("orgs", "create", "customer");
      const { key: apiKey } = await operator("keys", "create", "--org", id);
      const ask = (key: string) =>
        post("/v1/transcribe", null, new Uint8Array(FILE), {
          headers: { authorization: `Bearer ${apiKey}`, "idempotency-key": key },
        });
      const first = await ask("last");
      const bytes = await bytesOf(first);
      // Hold the rest of the balance for other work.
      await sql`update accounts set held = balance where id = ${id}`;
      const again = await ask("last");
      assert.ok((await bytesOf(again)).equals(bytes));
      assertReplayed(again, first);
      await assertRefused(await ask("next"), 429, "out_of_credits");
      await sql`update accounts set held = 0 where id = ${id}`;
    });

    test("browsers of any origin may send the header and read the response headers", async () => {
      const preflight = await fetch(`${service.url}/v1/tts`, {
        method: "OPTIONS",
        headers: { "access-control-request-headers": "authorization,idempotency-key" },
      });
      assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /idempotency-key/);
      const health = await fetch(`${service.url}/health`);
      const exposed = health.headers.get("access-control-expose-headers") ?? "";
      for (const name of ["Idempotent-Replayed", "Original-Request"]) assert.ok(exposed.includes(name));
    });

    for (const [version, OpenAI] of [
      ["5", OpenAI5],
      ["6", OpenAI6 as unknown as typeof OpenAI5],
    ] as const) {
      test(`a retry of the openai client ${version} after a lost response is not charged`, async () => {
        const [before, key] = [await spent(), newKey()];
        const losing = await loseFirstAnswer(service.port);
        const client = new OpenAI({ apiKey: service.key, baseURL: `${losing.base}/v1`, maxRetries: 2 });
        const spoken = await client.audio.speech.create(
          { model: "tts-1", voice: "aigul", input: TEXT, response_format: "wav" },
          { headers: { "Idempotency-Key": key } },
        );
        assert.equal(spoken.headers.get("idempotent-replayed"), "true");
        assert.ok((await spoken.arrayBuffer()).byteLength > 10_000);
        assert.equal(losing.requests(), 2);
        assert.equal((await spent()) - before, CREDITS);
        losing.server.close();
      });
    }

    test("after kill -9 during the work the same key repeats the work for one charge", async () => {
      const [before, midWork, answered] = [await spent(), newKey(), newKey()];
      const first = await speak(answered);
      const bytes = await bytesOf(first);
      const long = JSON.stringify({ text: LONG_TEXT, nfe: 16 });
      const cut = post("/v1/tts", midWork, long).catch(() => null);
      await eventually("the work is held", async () => {
        return (await sql`select from holds where state = 'open'`).length > 0;
      });
      service.child.kill("SIGKILL");
      await once(service.child, "exit");
      assert.equal(await cut, null);
      await sql.end();
      await start();
      const done = await post("/v1/tts", midWork, long);
      assert.equal(done.status, 200);
      assert.equal(done.headers.get("idempotent-replayed"), null);
      await done.arrayBuffer();
      const kept = await speak(answered);
      assert.ok((await bytesOf(kept)).equals(bytes), "answers outlive the service");
      assertReplayed(kept, first);
      assert.equal((await spent()) - before, CREDITS + LONG_CREDITS);
    });
  });
}
