// Runs the whole service on WebGPU over Mesa's software Vulkan, with real graphs and real shaders but no GPU.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Tensor } from "onnxruntime-node";
import WebSocket from "ws";
import { freePort } from "../../bench/support/free-port.js";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import type { StreamServerMessage } from "../../core/protocol/stream-messages.js";
import { DeviceCells } from "../../native/models/device-cells.js";
import { readManifest } from "../../native/models/find-packages.js";
import { loadGraph } from "../../native/models/graph.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import { cut, joined, RATE_HZ, silence, speech, wavOf } from "../support/audio.js";
import { DEVICE_MAIN } from "../support/device/entries.js";
import { lavapipe } from "../support/device/lavapipe.js";
import { eventually } from "../support/eventually.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** The first run on a machine compiles the shaders of every kernel, which takes about 30 s on one core. */
const LOADS_WITHIN_MS = 400_000;
const SPEECH = joined(silence(0.3), speech("kazakh-speech-commands/example_1.flac"), silence(0.8));
/**
 * An ONNX graph that expands each row to 2^20 floats before taking the maximum: more than 512 rows exceed
 * what WebGPU can bind.
 */
const WIDE_GRAPH =
  "CAg6pQEKGAoBeAoFc2hhcGUSBHdpZGUiBkV4cGFuZAoyCgR3aWRlEgF5IglSZWR1Y2VNYXgqCwoEYXhlc0ABoAEHKg8KCGtlZXBkaW1zGAGgAQISBHdp" +
  "ZGUqHQgCEAdCBXNoYXBlShABAAAAAAAAAAAAEAAAAAAAWhcKAXgSEgoQCAESDAoGEgRyb3dzCgIIAWIXCgF5EhIKEAgBEgwKBhIEcm93cwoCCAFCBAoA" +
  "EA0=";
const { skip, env } = await lavapipe();

describe("the service on WebGPU", { skip }, () => {
  let service: ServiceProcess;
  let operator: string;
  let undisturbed: string[];

  before(async () => {
    const port = await freePort();
    operator = `http://127.0.0.1:${port}`;
    service = await startServiceProcess(
      { ...env, EXECUTION_PROVIDERS: "webgpu,cpu", OPERATOR_PORT: String(port) },
      { main: DEVICE_MAIN },
    );
  });
  after(async () => assert.equal(await service.stop(), 0, service.output()));

  /**
   * Returns the response. If the model takes longer to load than requests wait, a later request finds it
   * loaded.
   */
  const post = async (path: string, body: string | Uint8Array, type: string): Promise<Buffer> => {
    const headers = { authorization: `Bearer ${service.key}`, "content-type": type };
    let bytes = Buffer.alloc(0);
    const ask = async () => {
      const answer = await fetch(service.url + path, { method: "POST", headers, body });
      bytes = Buffer.from(await answer.arrayBuffer());
      assert.ok([200, 503].includes(answer.status), bytes.toString());
      return answer.status === 200;
    };
    await eventually(`${path} answers`, ask, LOADS_WITHIN_MS);
    return bytes;
  };
  const speak = () => post("/v1/tts", JSON.stringify({ text: "Сәлем.", nfe: 4 }), "application/json");
  const transcribe = async () => {
    const wav = wavOf(SPEECH, RATE_HZ, 1);
    const { text } = JSON.parse(
      String(await post("/v1/transcribe", new Uint8Array(wav), "application/octet-stream")),
    ) as { text: string };
    return text;
  };
  /** Returns the texts of the finals, or null if the model took longer to load than the session waited. */
  const listenOnce = async (onHalf: () => void): Promise<string[] | null> => {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/stream`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    const send = (pcm: Int16Array) => {
      for (const part of cut(pcm, [1_600]))
        socket.send(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    };
    const finals: string[] = [];
    let isHalf = true;
    const half = Math.floor(SPEECH.length / 2);
    socket.once("open", () => send(SPEECH.subarray(0, half)));
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as StreamServerMessage;
      if (message.type === "final") finals.push(message.text);
      if (message.type !== "partial" || !isHalf) return;
      isHalf = false;
      onHalf();
      send(SPEECH.subarray(half));
      socket.send('{"type":"close"}');
    });
    const code = await new Promise<number>((resolve, reject) => {
      socket.once("close", resolve).once("error", reject);
    });
    return code === 1000 ? finals : null;
  };
  const listen = async (onHalf = () => {}): Promise<string[]> => {
    let finals: string[] | null = null;
    const ask = async () => {
      finals = await listenOnce(onHalf);
      return finals !== null;
    };
    await eventually("a session hears", ask, LOADS_WITHIN_MS);
    return finals!;
  };
  const placed = async () => {
    const { engines } = (await (await fetch(`${operator}/health`)).json()) as {
      engines: { engine: string; provider: string; fallback: { from: string; reason: string } | null }[];
    };
    return engines.map(({ engine, provider, fallback }) => [engine, provider, fallback?.from ?? null]);
  };
  const metrics = async () => (await (await fetch(`${operator}/metrics`)).text()).split("\n");

  test("speaks, transcribes and listens with three workers under the lock", async () => {
    const [wav, text, finals] = await Promise.all([speak(), transcribe(), listen()]);
    const samples = new WavSampleReader(wav.length).push(wav);
    assert.ok(samples.length > 4_000 && Math.max(...samples.map(Math.abs)) > 0.05, "a word is heard");
    // The boundaries of a file's pieces and of a session's utterances differ.
    for (const heard of [text, finals.join(" ")]) assert.match(heard, /^(?:\p{L}+ ?){3,}$/u);
    undisturbed = finals;
    assert.deepEqual(await placed(), [
      ["live", "webgpu", null],
      ["transcription", "webgpu", null],
      ["synthesis", "webgpu", null],
    ]);
    const lines = await metrics();
    for (const line of [
      'model_provider_info{engine="live",graph="svc-kk-ru-v2/stream",provider="webgpu",device="default",variant="gpu"} 1',
      'model_provider_info{engine="synthesis",graph="svc-kk-v1/step",provider="webgpu",device="default",variant="gpu"} 1',
      ...["missing", "out-of-memory", "lost", "other"].map((kind) => `gpu_errors_total{kind="${kind}"} 0`),
    ])
      assert.ok(lines.includes(line), `${line} in ${lines.join("\n")}`);
  });

  test("the next provider continues a lost provider's utterance with the same text", async () => {
    const finals = await listen(() => service.child.kill("SIGUSR2"));
    assert.deepEqual(finals, undisturbed);
    assert.deepEqual((await placed())[0], ["live", "cpu", "webgpu"]);
    const lines = await metrics();
    assert.ok(lines.includes('provider_fallbacks_total{engine="live",from="webgpu",to="cpu"} 1'));
    assert.ok(lines.includes('gpu_errors_total{kind="lost"} 1'));
    // The other workers continue where they are.
    assert.ok((await speak()).length > 4_000);
  });
});

test("after a tensor too large for the device is reported as out of memory, a smaller one runs", {
  skip,
}, async () => {
  const bytes = Buffer.from(WIDE_GRAPH, "base64");
  const folder = await temporaryFolder();
  await writeFile(join(folder, "wide.onnx"), bytes);
  const wide = { path: "wide.onnx", sha256: createHash("sha256").update(bytes).digest("hex") };
  const manifest = (await readManifest(RECOGNIZER_FOLDER)) as RecognizerManifest;
  const model = { folder, manifest: { ...manifest, id: "made-up", files: { wide } } };
  const placement = { provider: "webgpu", device: null, thread: 1, cells: DeviceCells.create() } as const;
  const contract = { file: "wide", inputs: ["x"], outputs: ["y"] };
  const graph = await loadGraph(model, contract, { intraOpThreads: 1, placement });
  const run = (rows: number) =>
    graph.run({ x: new Tensor("float32", new Float32Array(rows).fill(3), [rows, 1]) });
  try {
    await assert.rejects(
      run(520),
      (error) => error instanceof ProviderError && error.kind === "out-of-memory",
    );
    assert.deepEqual([...((await run(2))["y"]!.data as Float32Array)], [3, 3]);
  } finally {
    await graph.release();
  }
});
