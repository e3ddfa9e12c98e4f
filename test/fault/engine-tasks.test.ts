import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { freePort } from "../../bench/support/free-port.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import { joined, silence, speech, wavOf } from "../support/audio.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** The limit is generous, because a machine under load may be slow. */
const LIMIT_MS = 120_000;
const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Ертең балалар келеді.";
const SERVE = "synthesis,transcription";

describe("synthesis and files on engine nodes over NATS", { skip: WITHOUT_NATS }, () => {
  let models: { readonly MODELS_DIR: string };
  let nats: NatsServer;
  let alone: ServiceProcess;
  let gateway: ServiceProcess;
  let operatorPort: number;
  let nodes: EngineProcess[] = [];
  /** Two nodes start, because one may be lost then. */
  const startTwoNodes = async () => {
    const own = { SERVE, SYNTHESIS_WORKERS: "1", FILE_WORKERS: "1", BUS_URL: nats.url };
    const missing = Array.from({ length: 2 - nodes.length });
    nodes.push(...(await Promise.all(missing.map(() => startEngineProcess({ ...models, ...own })))));
  };

  before(async () => {
    models = await lightModels();
    nats = await NatsServer.start();
    operatorPort = await freePort();
    [gateway, alone] = await Promise.all([
      startServiceProcess({
        ...models,
        ...{ SERVE, ROLE: "gateway", KEY_PEPPER: "pepper of a fleet", BUS_URL: nats.url },
        OPERATOR_PORT: String(operatorPort),
      }),
      startServiceProcess({ ...models, SERVE }),
      startTwoNodes(),
    ]);
  });
  after(async () => {
    assert.equal(await gateway.stop(), 0, gateway.output());
    assert.equal(await alone.stop(), 0, alone.output());
    for (const node of nodes) assert.equal(await node.stop(), 0, node.output());
    await nats.kill();
  });

  /** The number of calls lost so far together with their nodes. */
  const lostCalls = async (kind: string) => {
    const metrics = await readMetrics(operatorPort);
    const of = (reason: string) =>
      metrics.get(`fleet_calls_lost_total{kind="${kind}",reason="${reason}"}`) ?? 0;
    return of("gone") + of("silent");
  };
  const kill = async (node: EngineProcess) => {
    nodes = nodes.filter((other) => other !== node);
    await node.kill();
  };

  test("a node killed in mid-sentence costs its listener no sample and no credit", async (t) => {
    const spent = await balance(gateway);
    const lostBefore = await lostCalls("synthesis");
    let charged = 0;
    let rounds = 0;
    // If a piece completed at the moment of the kill, there was no fault, and the loop tries again.
    for (; (await lostCalls("synthesis")) === lostBefore; rounds++) {
      await startTwoNodes();
      const wanted = { text: TEXT, nfe: 16, seed: rounds };
      const answer = await speak(gateway, wanted);
      const reader = answer.body!.getReader();
      const chunks = [(await reader.read()).value!];
      const working = await Promise.all(nodes.map(callsOn));
      await kill(nodes[working.findIndex((calls) => calls > 0)] ?? nodes[0]!);
      for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
      const expected = new Uint8Array(await (await speak(alone, wanted)).arrayBuffer());
      assert.ok(Buffer.concat(chunks).equals(expected), "the same stream as of one process");
      charged += Number(answer.headers.get("x-svc-credits"));
    }
    assert.ok(charged > 0);
    await isSpent(gateway, spent - charged);
    t.diagnostic(`${rounds} rounds`);
  });

  test("a node frozen and killed in mid-file costs no word and no credit", async (t) => {
    const pcm = joined(
      ...Array.from({ length: 6 }, () => [SPOKEN, silence(0.6)]).flat(),
      silence(25),
      SPOKEN,
    );
    const wav = wavOf(pcm, 16_000, 1);
    const expected = await transcribe(alone, wav);
    const spent = await balance(gateway);
    const lostBefore = await lostCalls("transcription");
    let charged = 0;
    let rounds = 0;
    // A frozen node keeps getting tasks until it counts as lost, unless the upload takes longer than that.
    for (; (await lostCalls("transcription")) === lostBefore; rounds++) {
      await startTwoNodes();
      const [frozen] = nodes;
      frozen!.child.kill("SIGSTOP");
      const answering = transcribe(gateway, wav);
      let isAnswered = false;
      void answering.then(() => {
        isAnswered = true;
      });
      const isOver = async () => isAnswered || (await lostCalls("transcription")) > lostBefore;
      await eventually("a call is lost, or the file is done", isOver, LIMIT_MS);
      await kill(frozen!);
      const answer = await answering;
      assert.deepEqual(answer.segments, expected.segments);
      assert.ok(answer.segments.length > 5, "there is speech in it");
      charged += answer.credits_charged;
    }
    await isSpent(gateway, spent - charged);
    t.diagnostic(`${rounds} rounds`);
  });
});

const SPOKEN = speech("kazakh-speech-commands/example_1.flac");

/** The number of pieces and tasks that a node is working on. */
async function callsOn({ operatorPort }: EngineProcess): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${operatorPort}/health`);
  const { engines } = (await answer.json()) as { engines: readonly { calls: number }[] };
  return engines.reduce((sum, { calls }) => sum + calls, 0);
}

async function speak({ url, key }: ServiceProcess, body: object): Promise<Response> {
  const answer = await fetch(`${url}/v1/tts/stream`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200);
  return answer;
}

interface Transcript {
  readonly segments: readonly unknown[];
  readonly credits_charged: number;
}

async function transcribe({ url, key }: ServiceProcess, wav: Uint8Array): Promise<Transcript> {
  const answer = await fetch(`${url}/v1/transcribe?timestamps=true`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  assert.equal(answer.status, 200);
  return (await answer.json()) as Transcript;
}

/** Waits until the balance is `left`, because a gateway may report a balance that is a second old. */
async function isSpent(gateway: ServiceProcess, left: number): Promise<void> {
  await eventually("every answer is charged once", async () => (await balance(gateway)) === left, LIMIT_MS);
}

async function balance({ url, key }: ServiceProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { balance: number }).balance;
}
