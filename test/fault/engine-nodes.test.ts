import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { saveResult } from "../../bench/save-result.js";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { freePort } from "../../bench/support/free-port.js";
import { type LiveRun, runLive } from "../../bench/support/live-client.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import { seconds } from "../../core/domain/rounded.js";
import { startLiveWorker } from "../../native/start-workers.js";
import { joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { liveEngine, RECOGNIZER } from "../support/engines.js";
import { eventually } from "../support/eventually.js";
import { RECOGNIZER_FOLDER } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { type Final, finalsOf } from "../support/live-listener.js";
import { momentOfFault } from "../support/pace.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { type FaultMoment, figuresOf } from "./fleet-figures.js";

/**
 * `FLEET_ROUNDS=20 npm test -- fault/engine-nodes` runs this many rounds with more sessions, and saves the
 * measured delays.
 */
const ROUNDS = Number(process.env["FLEET_ROUNDS"] ?? 1);
const SESSIONS = ROUNDS > 1 ? 50 : 2;
/** The longest speech of a round is shorter than a session's backlog. */
const LONGEST_SECONDS = 50 * ROUNDS;
/** The limit is generous, because a machine under load may be slow. */
const LIMIT_MS = 120_000;

const SENTENCES = [
  "kazakh-speech-commands/example_1.flac",
  "asterisk-ru-core/conf-getconfno.flac",
  "asterisk-ru-additional/an-error-has-occured.flac",
].map((file) => speech(file));

/** Sentences with pauses between them, in a different order for each voice. */
const VOICES = [0, 1].map((voice) => {
  const parts = [silence(0.2 + voice * 0.13)];
  for (let nth = voice; joined(...parts).length < LONGEST_SECONDS * RATE_HZ; nth++)
    parts.push(SENTENCES[nth % SENTENCES.length]!, silence(0.5 + (nth % 3) * 0.3));
  return joined(...parts);
});

describe("a gateway and its engine nodes over NATS", { skip: WITHOUT_NATS }, () => {
  let models: { readonly MODELS_DIR: string };
  let nats: NatsServer;
  let gateway: ServiceProcess;
  let operatorPort: number;
  const nodes: EngineProcess[] = [];
  const moments: FaultMoment[] = [];
  const startNode = async () => {
    nodes.push(await startEngineProcess({ ...models, SERVE: "live", BUS_URL: nats.url }));
  };

  before(async () => {
    models = await lightModels();
    nats = await NatsServer.start();
    operatorPort = await freePort();
    await Promise.all([
      startNode(),
      startNode(),
      startServiceProcess({
        ...models,
        ROLE: "gateway",
        KEY_PEPPER: "pepper of a fleet",
        BUS_URL: nats.url,
        LIVE_LANES: "2",
        LIVE_PER_ORG: "1000",
        OPERATOR_PORT: String(operatorPort),
      }).then((service) => {
        gateway = service;
      }),
    ]);
    // Twenty rounds exceed the free credits and the free limit on concurrent sessions.
    await creditDevelopment(gateway, 10_000_000);
  });
  after(async () => {
    // A failed start may leave some of these running.
    const codes = await Promise.all([gateway, ...nodes].map((started) => started?.stop()));
    await nats?.kill();
    assert.deepEqual(
      codes,
      [gateway, ...nodes].map(() => 0),
    );
  });

  /** Takes a node that has lanes, because a fault of a node without lanes would have no effect. */
  const takeOneWithLanes = async () => {
    let at = -1;
    await eventually(
      "a node has lanes",
      async () => {
        const lanes = await Promise.all(nodes.map(lanesOn));
        at = lanes.findIndex((count) => count > 0);
        return at >= 0;
      },
      LIMIT_MS,
    );
    return nodes.splice(at, 1)[0]!;
  };
  /** The number of lanes lost or moved so far. */
  const lost = async (reason: string) => {
    const metrics = await readMetrics(operatorPort);
    const name = reason === "draining" ? "lane_moves_total" : "lane_replays_total";
    return metrics.get(`${name}{reason="${reason}"}`) ?? 0;
  };
  /** Waits until a fault has lost another lane for one of these reasons. */
  const loses = async (fault: string, reasons: readonly string[], act: () => Promise<void>) => {
    const count = async () => {
      let sum = 0;
      for (const reason of reasons) sum += await lost(reason);
      return sum;
    };
    const before = await count();
    const atMs = performance.now();
    await act();
    await eventually(`the gateway has noticed: ${fault}`, async () => (await count()) > before, LIMIT_MS);
    moments.push({ fault, atMs, noticedAtMs: performance.now() });
    // Finals that a fault delays arrive before the next fault.
    if (ROUNDS > 1) await momentOfFault(4_000);
  };

  test("nodes that are killed, frozen, cut off or stopped cost no word, number or credit", async (t) => {
    const spent = await balance(gateway);
    let isOver = false;
    const speaking = Array.from({ length: SESSIONS }, (_, index) => {
      const [isHeard, hear] = signal();
      const run = runLive({
        url: gateway.url,
        key: gateway.key,
        pcm: VOICES[index % VOICES.length]!,
        messageSamples: [640, 700, 2_311],
        isPaced: true,
        isOver: () => isOver,
        query: "?words=true",
        onMessage: ({ type }) => {
          if (type === "partial" || type === "final") hear();
        },
      });
      return { run, isHeard };
    });
    // A rejected session would never be transcribed.
    await Promise.all(speaking.map(({ run, isHeard }) => Promise.race([isHeard, run])));
    for (let round = 0; round < ROUNDS; round++) {
      const killed = await takeOneWithLanes();
      await loses("a node was killed", ["gone", "silent"], () => killed.kill());
      await startNode();
      const frozen = await takeOneWithLanes();
      await loses("a node is frozen", ["silent"], async () => {
        frozen.child.kill("SIGSTOP");
      });
      frozen.child.kill("SIGCONT");
      // The frozen node has lost its lanes, but may still report them until it notices the loss.
      const leaving = await takeOneWithLanes();
      nodes.push(frozen);
      await loses("a node ends", ["draining"], async () => {
        assert.equal(await leaving.stop(), 0);
      });
      await loses("the bus was away", ["reconnect"], async () => {
        await nats.kill();
        await nats.start();
      });
      if (round + 1 < ROUNDS) await startNode();
    }
    isOver = true;
    const runs = await Promise.all(speaking.map(({ run }) => run));
    const settings = { ...RECOGNIZER, modelFolder: join(models.MODELS_DIR, basename(RECOGNIZER_FOLDER)) };
    const alone = await liveEngine({
      startWorker: (cells, onMessage) => startLiveWorker(settings, cells, onMessage),
    });
    await alone.start();
    for (const [index, run] of runs.entries()) {
      assert.equal(run.closeCode, 1_000, "the socket was closed by its own wish");
      const pcm = VOICES[index % VOICES.length]!.subarray(0, run.sentSamples);
      const expected = (await finalsOf(alone, [pcm])).map(asMessage);
      assert.ok(expected.length > 0, "the undisturbed run hears something");
      assert.deepEqual(finalMessages(run), expected, `session ${index}`);
      requireOrder(run);
    }
    await alone.stop();
    const charged = runs.map(doneOf);
    assert.deepEqual(
      charged.map(({ audio_seconds }) => audio_seconds),
      runs.map(({ sentSamples }) => sentSamples / RATE_HZ),
    );
    const total = charged.reduce((sum, { credits_charged }) => sum + credits_charged, 0);
    assert.ok(total > 0);
    assert.equal(spent - (await balance(gateway)), total, "every session is charged once");
    const audioSeconds = runs.reduce((sum, { sentSamples }) => sum + sentSamples, 0) / RATE_HZ;
    t.diagnostic(`${audioSeconds} s of audio`);
    const faults = figuresOf(moments, runs);
    for (const figures of faults) t.diagnostic(JSON.stringify(figures));
    const parameters = { rounds: ROUNDS, sessions: SESSIONS, audioSeconds };
    if (ROUNDS > 1) t.diagnostic(await saveResult("fleet-faults", { parameters, faults, moments }));
  });

  test("when engines start and stop with demand, sessions are delayed but lose no word", async () => {
    const wanted = async () => {
      const answer = await fetch(`http://127.0.0.1:${operatorPort}/demand`);
      return ((await answer.json()) as { live: { wanted: number } }).live.wanted;
    };
    for (const node of nodes.splice(0)) assert.equal(await node.stop(), 0);
    await eventually("no session is left", async () => (await wanted()) === 0, LIMIT_MS);
    const pcm = VOICES[0]!.subarray(0, 8 * RATE_HZ);
    const { url, key } = gateway;
    const speaking = runLive({ url, key, pcm, messageSamples: 1_600, isPaced: false });
    // Acts like an autoscaler: starts an engine for the first session, and stops it when no sessions remain.
    await eventually("a session is wanted", async () => (await wanted()) === 1, LIMIT_MS);
    await startNode();
    const run = await speaking;
    assert.equal(run.closeCode, 1_000);
    assert.ok(finalMessages(run).length > 0);
    requireOrder(run);
    assert.equal(doneOf(run).audio_seconds, 8);
    await eventually("nothing is wanted any more", async () => (await wanted()) === 0, LIMIT_MS);
    for (const node of nodes.splice(0)) assert.equal(await node.stop(), 0);
  });
});

async function lanesOn({ operatorPort }: EngineProcess): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${operatorPort}/health`);
  const { engines } = (await answer.json()) as { engines: readonly { lanes: number }[] };
  return engines[0]!.lanes;
}

function finalMessages(run: LiveRun): unknown[] {
  return run.received.flatMap(({ message }) => (message.type === "final" ? [message] : []));
}

/** The error as a client sees it. */
/** The final as clients receive it, with times to the millisecond. */
function asMessage({ startSample, endSample, words, ...final }: Final): unknown {
  return {
    ...final,
    start: seconds(startSample / RATE_HZ),
    end: seconds(endSample / RATE_HZ),
    words: words.map((word) => ({ ...word, start: seconds(word.start), end: seconds(word.end) })),
  };
}

/** Each final arrives once, utterances are in order, and no message about an utterance follows its final. */
function requireOrder(run: LiveRun): void {
  let next = 0;
  for (const { message } of run.received) {
    if (message.type === "final") assert.equal(message.utterance, next++);
    if (message.type === "partial") assert.equal(message.utterance, next);
  }
}

function doneOf({ received }: LiveRun) {
  const last = received.at(-1)?.message;
  assert.ok(last?.type === "done");
  return last;
}

async function balance({ url, key }: ServiceProcess): Promise<number> {
  const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { balance: number }).balance;
}

function signal(): readonly [Promise<void>, () => void] {
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return [told, tell];
}
