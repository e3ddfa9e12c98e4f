import assert from "node:assert/strict";
import { copyFile, cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import WebSocket from "ws";
import { freePort } from "../../bench/support/free-port.js";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { resample } from "../../core/domain/audio/resample.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { dauysInTurn } from "../support/command-process.js";
import { eventually } from "../support/eventually.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER, temporaryFolder } from "../support/folders.js";
import { momentOfFault, pace } from "../support/pace.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const TEXT = "Бүгін ауа райы жақсы болады. Кітапхана таңертең ашылады.";
const ENGINES = ["live", "transcription", "synthesis"] as const;
const FREE_CREDITS = 25_000;

type Engine = (typeof ENGINES)[number];

interface LiveRun {
  readonly messages: readonly StreamServerMessage[];
  readonly closeCode: number;
}

function speak(service: ServiceProcess, text = TEXT): Promise<Response> {
  return fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text, nfe: 8 }),
  });
}

function transcribe(service: ServiceProcess, wav: Buffer): Promise<Response> {
  return fetch(`${service.url}/v1/transcribe?timestamps=true`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
}

/**
 * Sends everything, including `close`, as soon as the socket is open, like a client that does not wait for
 * `ready`.
 */
async function listen(service: ServiceProcess, pcm: Int16Array): Promise<LiveRun> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream?words=true&partials=false`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  const messages: StreamServerMessage[] = [];
  socket.on("message", (bytes) => messages.push(JSON.parse(String(bytes)) as StreamServerMessage));
  socket.once("open", () => {
    for (let sent = 0; sent < pcm.length; sent += 3_200) {
      const part = pcm.subarray(sent, sent + 3_200);
      socket.send(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    }
    socket.send('{"type":"close"}');
  });
  const closeCode = await new Promise<number>((resolve, reject) => {
    socket.once("close", resolve);
    socket.once("error", reject);
  });
  return { messages, closeCode };
}

function finalsOf({ messages }: LiveRun): StreamServerMessage[] {
  return messages.filter(({ type }) => type === "final");
}

/** 24 kHz WAV to 16 kHz PCM with half a second of silence on both sides. */
function toPcm(wav: Buffer): Int16Array {
  const samples = new WavSampleReader(wav.length).push(wav);
  const pcm = toInt16(resample(samples, { fromHz: 24_000, toHz: 16_000 }));
  const padded = new Int16Array(pcm.length + 16_000);
  padded.set(pcm, 8_000);
  return padded;
}

/** Checks that the header is present after a long wait and counts whole milliseconds. */
function assertColdStart(answer: Response): void {
  const value = answer.headers.get("x-svc-cold-start-ms");
  if (value !== null)
    assert.ok(/^\d+$/.test(value) && Number(value) >= 1_000, `X-Svc-Cold-Start-Ms: ${value}`);
}

describe("a service that loads models on demand", () => {
  let service: ServiceProcess;
  let operatorPort: number;
  /** The results of loaded engines: the audio of a short text, and the finals of that audio. */
  let short: { readonly pcm: Int16Array; readonly finals: readonly StreamServerMessage[] };

  before(async () => {
    operatorPort = await freePort();
    service = await startServiceProcess({
      MODEL_PRELOAD: "false",
      MODEL_IDLE_S: "2",
      OPERATOR_PORT: String(operatorPort),
    });
  });
  after(async () => {
    assert.equal(await service.stop(), 0, service.output());
  });

  const metric = async (line: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
    const found = text.split("\n").find((candidate) => candidate.startsWith(`${line} `));
    return Number(found?.slice(line.length + 1) ?? 0);
  };
  const labels = (engine: Engine) =>
    `engine="${engine}",model="${engine === "synthesis" ? "svc-kk-v1" : "svc-kk-ru-v2"}"`;
  const loads = (engine: Engine) => metric(`model_loads_total{${labels(engine)},outcome="loaded"}`);
  const isLoaded = async (engine: Engine) => (await metric(`model_loaded{${labels(engine)}}`)) === 1;
  const untilCold = async () => {
    await eventually("no model is loaded", async () => {
      const loaded = await Promise.all(ENGINES.map(isLoaded));
      return loaded.every((is) => !is);
    });
  };
  const assertProbes = async () => {
    const health = await fetch(`${service.url}/health`);
    assert.deepEqual(
      [health.status, Object.keys((await health.json()) as object)],
      [200, ["status", "models"]],
    );
    assert.equal((await fetch(`${service.url}/ready`)).status, 200);
  };

  test("a cold service is alive and ready; twenty simultaneous requests share one load", async () => {
    await untilCold();
    await assertProbes();
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const answer = await speak(service, `Сөз ${index}.`);
        assertColdStart(answer);
        // Read immediately: a client that does not read its response is disconnected.
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.deepEqual(await Promise.all(ENGINES.map(loads)), [0, 0, 1]);
  });

  test("speech, files and live audio give the same results cold, warm and after a release", async () => {
    const spoken: Buffer[] = [];
    const files: unknown[] = [];
    const lives: LiveRun[] = [];
    const round = async () => {
      const answer = await speak(service);
      assert.equal(answer.status, 200);
      assertColdStart(answer);
      spoken.push(Buffer.from(await answer.arrayBuffer()));
      const file = await transcribe(service, spoken[0]!);
      assert.equal(file.status, 200);
      assertColdStart(file);
      const { segments } = (await file.json()) as { segments: unknown };
      files.push(segments);
      lives.push(await listen(service, toPcm(spoken[0]!)));
    };
    await untilCold();
    await round();
    const afterFirst = await Promise.all(ENGINES.map(loads));
    await round();
    await untilCold();
    await assertProbes();
    await round();
    const pcm = toPcm(Buffer.from(await (await speak(service, "Сәлем, достар!")).arrayBuffer()));
    short = { pcm, finals: finalsOf(await listen(service, pcm)) };
    // On a busy machine the idle timeout may also expire during a round.
    for (const [index, engine] of ENGINES.entries())
      assert.ok((await loads(engine)) > afterFirst[index]!, engine);
    for (const wav of spoken) assert.ok(wav.equals(spoken[0]!), "the same samples");
    for (const segments of files) assert.deepEqual(segments, files[0]);
    const [first] = lives;
    assert.ok(first !== undefined && finalsOf(first).length >= 1);
    for (const live of lives) {
      assert.equal(live.closeCode, 1000);
      assert.equal(live.messages[0]?.type, "ready");
      assert.deepEqual(finalsOf(live), finalsOf(first));
      assert.deepEqual(live.messages.at(-1), first.messages.at(-1), "the same audio, charged the same");
    }
  });

  test("twenty sockets opened on a cold service share one load without losing audio", async () => {
    assert.ok(short.finals.length >= 1);
    await untilCold();
    const before = await loads("live");
    const runs = await Promise.all(Array.from({ length: 20 }, () => listen(service, short.pcm)));
    for (const run of runs) assert.deepEqual(finalsOf(run), short.finals);
    assert.equal(await loads("live"), before + 1);
  });

  test("all requests around a release are answered", async () => {
    for (const pauseMs of [1_990, 2_000, 2_010, 2_030]) {
      const answer = await speak(service, "Ия.");
      assert.equal(answer.status, 200, `after ${pauseMs} ms`);
      await answer.arrayBuffer();
      await pace(pauseMs);
    }
  });

  test("clients that leave while the model loads pay nothing and leave nothing behind", async () => {
    await untilCold();
    const ledger = async () => {
      const { stdout, stderr } = await dauysInTurn(["ledger", "org_development", "--json"], {
        env: { DATA_DIR: service.dataDir },
      });
      assert.equal(stderr, "");
      return JSON.parse(stdout) as { balance: number; held: number };
    };
    const { balance } = await ledger();
    const leaving = new AbortController();
    const asked = fetch(`${service.url}/v1/tts`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      body: JSON.stringify({ text: TEXT }),
      signal: leaving.signal,
    });
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    socket.once("open", () => {
      socket.send(new Uint8Array(32_000));
      void momentOfFault(30).then(() => {
        socket.terminate();
        leaving.abort();
      });
    });
    await assert.rejects(asked);
    await untilCold();
    await eventually("the hold is released", async () => (await ledger()).held === 0);
    assert.equal((await ledger()).balance, balance);
    assert.equal(await metric("live_sessions"), 0);
  });
});

test("a failed load gives 503 and 1013 at no charge; the next request tries again", async () => {
  const modelsDir = await temporaryFolder();
  await cp(RECOGNIZER_FOLDER, join(modelsDir, "recognizer"), { recursive: true });
  await cp(SYNTHESIZER_FOLDER, join(modelsDir, "synthesizer"), { recursive: true });
  const broken = [
    ["synthesizer", "step.onnx"],
    ["recognizer", "full.onnx"],
  ] as const;
  for (const path of broken) await rm(join(modelsDir, ...path));
  const service = await startServiceProcess({
    MODELS_DIR: modelsDir,
    MODEL_PRELOAD: "false",
    LOG_LEVEL: "fatal",
  });
  try {
    const answers = await Promise.all(Array.from({ length: 5 }, () => speak(service, "Сәлем!")));
    answers.push(await transcribe(service, wavOfSilence()));
    for (const answer of answers) {
      const { detail } = (await answer.json()) as { detail: string };
      assert.equal(answer.status, 503, detail);
      assert.equal(answer.headers.get("x-svc-error"), "engine_busy");
      assert.ok(Number(answer.headers.get("retry-after")) > 0);
      assert.doesNotMatch(detail, /onnx|models/);
    }
    const live = await listen(service, new Int16Array(16_000));
    assert.equal(live.closeCode, 1013);
    assert.deepEqual(
      live.messages.map((message) => (message.type === "error" ? message.code : message.type)),
      ["engine_busy"],
    );
    const { stdout } = await dauysInTurn(["ledger", "org_development", "--json"], {
      env: { DATA_DIR: service.dataDir },
    });
    const { balance, held } = JSON.parse(stdout) as { balance: number; held: number };
    assert.deepEqual([balance, held], [FREE_CREDITS, 0]);
    await copyFile(join(SYNTHESIZER_FOLDER, "step.onnx"), join(modelsDir, ...broken[0]));
    await copyFile(join(RECOGNIZER_FOLDER, "full.onnx"), join(modelsDir, ...broken[1]));
    assert.equal((await speak(service, "Сәлем!")).status, 200);
    assert.equal((await transcribe(service, wavOfSilence())).status, 200);
    assert.equal((await listen(service, new Int16Array(16_000))).closeCode, 1000);
  } finally {
    assert.equal(await service.stop(), 0, service.output());
  }
});

/** One second of silence at 8 kHz. */
function wavOfSilence(): Buffer {
  return Buffer.from(writeWav(new Int16Array(8_000), 8_000));
}
