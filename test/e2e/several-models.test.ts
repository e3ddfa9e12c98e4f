import assert from "node:assert/strict";
import { once } from "node:events";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import WebSocket from "ws";
import { freePort } from "../../bench/support/free-port.js";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import { dauys } from "../cli/support.js";
import { joined, silence, tone, wavOf } from "../support/audio.js";
import { dauysInTurn } from "../support/command-process.js";
import { NEEDS_ESPEAK } from "../support/espeak.js";
import { eventually } from "../support/eventually.js";
import { changeManifest, temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const ADAPTERS = "test/fixtures/adapters";
/** Public weights that an operator added. The first two are the defaults. */
const INSTALLED = ["tiny-gigaam-ctc", "tiny-matcha", "tiny-vits", "tiny-zipformer2-ctc"];
const SHIPPED = { hears: "svc-kk-ru-v2", speaks: "svc-kk-v1" };
const TINY = { hears: "tiny-gigaam-ctc", speaks: "tiny-matcha" };
const BURSTS = wavOf(
  joined(silence(0.5), tone(0.4, [400, 900]), tone(0.5, [1_500]), silence(0.8)),
  16_000,
  1,
);

let dataDir: string;
let models: string;

before(async () => {
  dataDir = await temporaryFolder();
  models = join(dataDir, "models");
  await mkdir(models);
  for (const name of INSTALLED) await cp(join(ADAPTERS, name), join(models, name), { recursive: true });
  // The graph outputs the frames of each token, from which word times are computed.
  await changeManifest(join(models, "tiny-vits"), (manifest) => ({ ...manifest, durations: "durations" }));
  const damaged = join(models, "damaged");
  await cp(join(ADAPTERS, "tiny-nemo-ctc"), damaged, { recursive: true });
  await changeManifest(damaged, (manifest) => ({ ...manifest, id: "damaged", melBins: "many" }));
  await useDefaults({ transcription: TINY.hears, synthesis: TINY.speaks });
});

function useDefaults(defaults: object): Promise<void> {
  return writeFile(join(models, "defaults.json"), JSON.stringify(defaults));
}

describe("a service with added models next to the shipped ones", () => {
  let service: ServiceProcess;
  let operatorPort: number;

  before(async () => {
    operatorPort = await freePort();
    service = await startServiceProcess({
      DATA_DIR: dataDir,
      MODEL_PRELOAD: "true",
      MODEL_IDLE_S: "2",
      OPERATOR_PORT: String(operatorPort),
    });
  });
  after(async () => {
    assert.equal(await service.stop(), 0, service.output());
  });

  const speak = (body: object, path = "/v1/tts") =>
    fetch(service.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "Сәлем, әлем!", nfe: 4, ...body }),
    });
  const transcribe = async (query = "") => {
    const answer = await fetch(`${service.url}/v1/transcribe${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/octet-stream" },
      body: new Uint8Array(BURSTS),
    });
    const body = (await answer.json()) as { readonly model?: string; readonly detail?: string };
    return { status: answer.status, header: answer.headers.get("x-svc-model"), ...body };
  };
  const listen = async (query = "") => {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream${query}`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const messages: { readonly type: string; readonly model?: string }[] = [];
    socket.on("message", (bytes) => messages.push(JSON.parse(String(bytes))));
    await once(socket, "open");
    socket.send('{"type":"close"}');
    await once(socket, "close");
    return messages.find(({ type }) => type === "ready")?.model;
  };
  const loaded = async (engine: string, model: string) => {
    const text = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
    return text.includes(`model_loaded{engine="${engine}",model="${model}"} 1\n`);
  };

  test("only the chosen defaults are loaded at start", async () => {
    assert.equal(await loaded("synthesis", SHIPPED.speaks), false);
    assert.equal(await loaded("live", SHIPPED.hears), false);
    const metrics = await readMetrics(operatorPort);
    assert.equal(metrics.get("model_loads_total"), 3);
  });

  test("the catalog lists complete installed models, the chosen default first", async () => {
    const answer = await fetch(`${service.url}/v1/models`);
    const { data, transcription } = (await answer.json()) as Record<
      "data" | "transcription",
      readonly {
        readonly name: string;
        readonly default: boolean;
        readonly word_times?: boolean;
        readonly solver_steps?: boolean;
      }[]
    >;
    assert.deepEqual(
      data.map((model) => [model.name, model.default, model.word_times, model.solver_steps]),
      [
        [TINY.speaks, true, false, false],
        [SHIPPED.speaks, false, true, true],
        ["tiny-vits", false, true, false],
      ],
    );
    assert.deepEqual(
      transcription.map((model) => [model.name, model.default]),
      [
        [TINY.hears, true],
        [SHIPPED.hears, false],
        ["tiny-zipformer2-ctc", false],
      ],
    );
    assert.match(service.output(), /broken model package skipped/);
    assert.match(service.output(), /damaged\/manifest\.json: melBins/);
  });

  test("requests without a model get the defaults; other models load with their first request", async () => {
    // Each response is read immediately, because a client that waits for the other model before reading is
    // disconnected.
    const spoken = await Promise.all(
      [{}, { model: SHIPPED.speaks, voice: "dauren" }].map(async (request) => {
        const answer = await speak(request);
        const { byteLength: bytes } = await answer.arrayBuffer();
        return { status: answer.status, model: answer.headers.get("x-svc-model"), bytes };
      }),
    );
    assert.deepEqual(
      spoken.map(({ status, model }) => [status, model]),
      [
        [200, TINY.speaks],
        [200, SHIPPED.speaks],
      ],
    );
    const [tiny = 0, shipped = 0] = spoken.map(({ bytes }) => bytes);
    assert.ok(tiny > 1_000 && shipped > 1_000 && tiny !== shipped);
    const heard = await Promise.all([transcribe(), transcribe(`?model=${SHIPPED.hears}`)]);
    assert.deepEqual(
      heard.map(({ status, header, model }) => [status, header, model]),
      [
        [200, TINY.hears, TINY.hears],
        [200, SHIPPED.hears, SHIPPED.hears],
      ],
    );
    assert.deepEqual(await Promise.all([listen(), listen("?model=tiny-zipformer2-ctc")]), [
      TINY.hears,
      "tiny-zipformer2-ctc",
    ]);
  });

  test(
    "a model with public weights speaks at the common sample rate in every voice and at every speed",
    NEEDS_ESPEAK,
    async () => {
      const wavs: Uint8Array[] = [];
      for (const request of [{}, { voice: "third", speed: 2 }, { speed: 0.5 }]) {
        const spoken = await speak({ model: "tiny-vits", text: "Сәлем, әлем! Бағасы 15%.", ...request });
        assert.equal(spoken.status, 200, await spoken.clone().text());
        wavs.push(new Uint8Array(await spoken.arrayBuffer()));
      }
      assert.equal(new DataView(wavs[0]!.buffer).getUint32(24, true), 24_000);
      const [usual, fast, slow] = wavs.map((wav) => wav.length) as [number, number, number];
      assert.ok(fast < usual && usual < slow, `${fast} ${usual} ${slow}`);
      const timed = await speak(
        { model: "tiny-vits", text: "Сәлем! Бағасы 15%." },
        "/v1/tts?timestamps=true",
      );
      const { words } = (await timed.json()) as {
        readonly words: readonly { word: string; spoken?: string; start: number; end: number }[];
      };
      assert.deepEqual(
        words.map(({ word, spoken }) => [word, spoken]),
        [
          ["Сәлем", undefined],
          ["Бағасы", undefined],
          ["15%", "он бес пайыз"],
        ],
      );
      const times = words.flatMap(({ start, end }) => [start, end]);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.ok(times[0]! > 0 && times[1]! > times[0]!, String(times));
    },
  );

  test("an option that one model lacks is rejected only for that model", async () => {
    const wrongVoice = await speak({ voice: "dauren" });
    assert.equal(wrongVoice.headers.get("x-svc-error"), "unknown_voice");
    const timed = await speak({}, "/v1/tts?timestamps=true");
    const { detail } = (await timed.json()) as { readonly detail: string };
    assert.match(detail, /timestamps must be false: tiny-matcha does not provide word times/);
    const hotWords = `hotwords=${encodeURIComponent("қала")}`;
    assert.match((await transcribe(`?${hotWords}`)).detail ?? "", /the model's letters, received "қ"/);
    assert.equal((await transcribe(`?model=${SHIPPED.hears}&${hotWords}`)).status, 200);
    const pieces = "?model=tiny-zipformer2-ctc";
    assert.match((await transcribe(`${pieces}&${hotWords}`)).detail ?? "", /letters, received "қ"/);
    const known = `hotwords=${encodeURIComponent("сәлем:2")}`;
    assert.equal((await transcribe(`${pieces}&${known}`)).status, 200, "word pieces");
    for (const name of ["damaged", "nope"]) {
      assert.equal((await transcribe(`?model=${name}`)).status, 404, name);
    }
  });

  test("an unused model releases its memory until the next request for it", async () => {
    await eventually("all are released", async () => {
      return (await readMetrics(operatorPort)).get("model_loaded") === 0;
    });
    // The test counts loads, because on a busy machine the model may be released again before the test looks.
    const loads = async () => {
      const metrics = await readMetrics(operatorPort);
      return ["tiny-zipformer2-ctc", TINY.hears].map(
        (model) =>
          metrics.get(`model_loads_total{engine="transcription",model="${model}",outcome="loaded"}`) ?? 0,
      );
    };
    const [wanted = 0, other] = await loads();
    assert.equal((await transcribe("?model=tiny-zipformer2-ctc")).status, 200);
    assert.deepEqual(await loads(), [wanted + 1, other]);
  });

  test("commands accept a model, which is part of a recording's idempotency key", async () => {
    const file = join(dataDir, "bursts.wav");
    await writeFile(file, BURSTS);
    const env = { DAUYS_URL: service.url, DAUYS_API_KEY: service.key };
    const ask = async (...options: readonly string[]) => {
      const { stdout } = await dauysInTurn(["transcribe", file, "--json", ...options], { env });
      const { model, is_replayed } = JSON.parse(stdout) as { model: string; is_replayed: boolean };
      return [model, is_replayed];
    };
    assert.deepEqual(await ask(), [TINY.hears, false]);
    assert.deepEqual(await ask("--model", TINY.hears), [TINY.hears, false]);
    assert.deepEqual(await ask(), [TINY.hears, true]);
    const live = await dauys(["listen", file, "--json", "--model", "tiny-zipformer2-ctc"], { env });
    assert.match(live.stdout, /"type":"ready".*"model":"tiny-zipformer2-ctc"/);
  });
});

test("a broken or missing default fails the start, naming the file and the ID", async () => {
  for (const [transcription, rule] of [
    ["damaged", /cannot start: Cannot use .*damaged\/manifest\.json: melBins/],
    ["gone", /cannot start: Cannot start: .*defaults\.json sets gone for transcription, which is not/],
  ] as const) {
    await useDefaults({ transcription });
    await assert.rejects(startServiceProcess({ DATA_DIR: dataDir }), rule);
  }
});
