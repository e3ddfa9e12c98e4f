// Publishes damaged messages on every subject of the fleet while clients are served.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { freePort } from "../../bench/support/free-port.js";
import { runLive } from "../../bench/support/live-client.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { readMetrics } from "../../bench/support/operator-metrics.js";
import { joined, RATE_HZ, silence, speech, wavOf } from "../support/audio.js";
import { BusFuzzer } from "../support/bus-fuzzer.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { within } from "../support/pace.js";
import { SEED } from "../support/seed.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Ертең балалар келеді.";
const SAID = joined(
  silence(0.3),
  speech("kazakh-speech-commands/example_1.flac"),
  silence(0.8),
  speech("asterisk-ru-core/conf-getconfno.flac"),
  silence(0.5),
);
/** Every subject to which the fleet subscribes. */
const SUBJECTS = [
  "dauys.v1.beat.live",
  "dauys.v1.beat.synthesis",
  "dauys.v1.beat.transcription",
  "dauys.v1.engine.*.live.*.*",
  "dauys.v1.engine.*.synthesis.*",
  "dauys.v1.engine.*.transcription.*",
  "dauys.v1.engine.*.unheard.synthesis.*",
  "dauys.v1.engine.*.unheard.transcription.*",
  "dauys.v1.front.*.call.*",
  "dauys.v1.front.*.live.*",
  "dauys.v1.front.*.lost.*",
  "dauys.v1.front.*.unheard.synthesis.*",
  "dauys.v1.front.*.unheard.transcription.*",
];
const COUNTED = "bus_messages_damaged_total";
/** Enough to show that results do not vary without damaged messages. */
const UNDISTURBED_ROUNDS = 3;
const LIMIT_MS = 240_000;
/**
 * The shortest interval between lines that are limited to one a second. Node's timers may fire a millisecond
 * early.
 */
const LEAST_GAP_MS = 990;

describe("damaged messages on the bus", { skip: WITHOUT_NATS }, () => {
  let nats: NatsServer;
  let gateway: ServiceProcess;
  let engine: EngineProcess;
  let operatorPort: number;

  before(async () => {
    const models = await lightModels();
    nats = await NatsServer.start();
    operatorPort = await freePort();
    const bus = { ...models, BUS_URL: nats.url };
    [gateway, engine] = await Promise.all([
      startServiceProcess({
        ...bus,
        ...{ ROLE: "gateway", KEY_PEPPER: "pepper of a fleet", OPERATOR_PORT: String(operatorPort) },
        // A loaded machine may delay an engine for longer than the usual 1.6 s.
        ENGINE_LOST_MS: "30000",
      }),
      startEngineProcess({ ...bus, SYNTHESIS_WORKERS: "1", FILE_WORKERS: "1" }),
    ]);
    await creditDevelopment(gateway, 10_000_000);
  });
  after(async () => {
    // Wait for all of them, even if one has failed.
    const codes = await Promise.all([gateway?.stop(), engine?.stop()]);
    await nats?.kill();
    assert.deepEqual(codes, [0, 0], gateway?.output() + engine?.output());
  });

  const asked = () => ({ method: "POST", headers: { authorization: `Bearer ${gateway.key}` } });
  const speak = async () => {
    const body = JSON.stringify({ text: TEXT, nfe: 8, seed: 7 });
    const answer = await fetch(`${gateway.url}/v1/tts/stream`, { ...asked(), body });
    assert.equal(answer.status, 200, await problemOf(answer));
    return Buffer.from(await answer.arrayBuffer()).toString("base64");
  };
  const transcribe = async () => {
    const body = new Uint8Array(wavOf(SAID, RATE_HZ, 1));
    const answer = await fetch(`${gateway.url}/v1/transcribe?timestamps=true`, { ...asked(), body });
    assert.equal(answer.status, 200, await problemOf(answer));
    return ((await answer.json()) as { readonly segments: readonly unknown[] }).segments;
  };
  const listen = async () => {
    const { received, closeCode } = await runLive({
      ...{ url: gateway.url, key: gateway.key, pcm: SAID, messageSamples: 800, isPaced: true },
    });
    const said = received.flatMap(({ message }) => (message.type === "partial" ? [] : [message.type]));
    assert.deepEqual([closeCode, said.includes("error")], [1_000, false], said.join());
    return received.flatMap(({ message }) => (message.type === "final" ? [message] : []));
  };

  /** Synthesizes and transcribes until a live session ends, or `mostRounds` times. */
  const serve = async (mostRounds = Number.POSITIVE_INFINITY) => {
    const spoken = new Set<string>();
    const segments = new Set<string>();
    let isOver = false;
    const listening = listen().finally(() => {
      isOver = true;
    });
    const asking = async () => {
      for (let round = 0; round === 0 || (!isOver && round < mostRounds); round++) {
        const [sound, transcript] = await Promise.all([speak(), transcribe()]);
        spoken.add(sound);
        segments.add(JSON.stringify(transcript));
      }
    };
    const [finals] = await Promise.all([listening, asking()]);
    return { spoken: [...spoken], segments: [...segments], finals };
  };

  test("fail no request and no session, and are counted and logged once a second", async () => {
    const expected = await serve(UNDISTURBED_ROUNDS);
    assert.deepEqual([expected.spoken.length, expected.segments.length], [1, 1]);
    assert.ok(expected.finals.length > 1);
    const processes = [
      { port: operatorPort, output: gateway.output, from: gateway.output().length },
      { port: engine.operatorPort, output: engine.output, from: engine.output().length },
    ];

    const fuzzer = await BusFuzzer.start(nats.url, SEED);
    assert.deepEqual(await within(LIMIT_MS, "all are served", serve()), expected);
    await fuzzer.stop();

    assert.deepEqual([...fuzzer.counts.keys()].toSorted(), SUBJECTS);
    const metrics = await readMetrics(operatorPort);
    for (const name of ["lane_replays_total", "fleet_calls_lost_total"])
      assert.equal(metrics.get(name) ?? 0, 0, name + gateway.output());
    const published = (subjects: RegExp) =>
      [...fuzzer.counts].reduce((sum, [subject, count]) => sum + (subjects.test(subject) ? count : 0), 0);
    const [atGateway, atEngine] = [/\.(beat|front)\./, /\.engine\./].map(published) as [number, number];
    // Nothing reads the subject of a closed lane.
    await damagedAre(operatorPort, atGateway - published(/\.front\.\*\.(live|lost)\./), atGateway);
    await damagedAre(engine.operatorPort, atEngine, atEngine);
    for (const { port, output, from } of processes) {
      const lines = () => output().slice(from).split("\n").slice(0, -1).map(parsedLine);
      await eventually("every damaged message is in the log", async () => {
        const counted = (await readMetrics(port)).get(COUNTED);
        return lines().reduce((sum, { count }) => sum + count, 0) === counted;
      });
      assert.deepEqual(new Set(lines().map(({ msg }) => msg)), new Set(["damaged bus messages dropped"]));
      const times = lines().map(({ time }) => Date.parse(time));
      const gaps = times.slice(1).map((time, at) => time - times[at]!);
      assert.ok(Math.min(...gaps) > LEAST_GAP_MS, gaps.join());
    }
  });
});

/** Waits until a process has counted all messages addressed to it. */
async function damagedAre(port: number, least: number, most: number): Promise<void> {
  const count = async () => (await readMetrics(port)).get(COUNTED) ?? 0;
  await eventually("damaged messages are counted", async () => (await count()) >= least);
  assert.ok((await count()) <= most);
}

function parsedLine(line: string) {
  return JSON.parse(line) as { readonly msg: string; readonly count: number; readonly time: string };
}

async function problemOf(answer: Response): Promise<string> {
  return answer.ok ? "" : await answer.text();
}
