import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { littleEndianBytes, toInt16 } from "../../core/domain/audio/pcm.js";
import { Resampler } from "../../core/domain/audio/resample.js";
import { joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { lightModels } from "../support/light-models.js";
import { append, RealtimeEvents } from "../support/realtime-events.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const REALTIME_HZ = 24_000;
const COMPLETED = "conversation.item.input_audio_transcription.completed";
const COMMIT = '{"type":"input_audio_buffer.commit"}';
/** 100 ms of audio. */
const PIECE_BYTES = REALTIME_HZ / 5;
const SPEECH = joined(speech("kazakh-speech-commands/example_1.flac"), silence(0.5));

describe("realtime transcription through a gateway and engine nodes", { skip: WITHOUT_NATS }, () => {
  let nats: NatsServer;
  let gateway: ServiceProcess;
  const nodes: EngineProcess[] = [];
  let pcm: Uint8Array;

  before(async () => {
    const models = await lightModels();
    nats = await NatsServer.start();
    const startNode = async () => {
      nodes.push(await startEngineProcess({ ...models, SERVE: "live", BUS_URL: nats.url }));
    };
    await Promise.all([
      startNode(),
      startNode(),
      startServiceProcess({
        ...models,
        ROLE: "gateway",
        KEY_PEPPER: "pepper of a fleet",
        BUS_URL: nats.url,
        LIVE_LANES: "2",
      }).then((service) => {
        gateway = service;
      }),
    ]);
    const resampler = new Resampler({ fromHz: RATE_HZ, toHz: REALTIME_HZ });
    const samples = Float32Array.from(SPEECH, (sample) => sample / 0x8000);
    pcm = littleEndianBytes(toInt16(resampler.push(samples)));
  });
  after(async () => {
    // A failed start may leave any of these running.
    const codes = await Promise.all([gateway, ...nodes.slice(1)].map((started) => started?.stop()));
    await nodes[0]?.kill();
    await nats?.kill();
    assert.deepEqual(codes, [0, 0]);
  });

  /** Sends two turns, separated by a pause that the caller controls, and returns their transcripts. */
  async function turns(between: () => Promise<void>): Promise<readonly string[]> {
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/realtime`, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    const events = new RealtimeEvents(socket);
    await once(socket, "open");
    const input = { turn_detection: null };
    socket.send(JSON.stringify({ type: "session.update", session: { audio: { input } } }));
    const sendAll = () => {
      for (let start = 0; start < pcm.length; start += PIECE_BYTES)
        socket.send(append(pcm.subarray(start, start + PIECE_BYTES)));
    };
    sendAll();
    socket.send(COMMIT);
    await events.seen(COMPLETED);
    sendAll();
    await between();
    socket.send(COMMIT);
    await events.seen(COMPLETED, 2);
    socket.close();
    return events.of(COMPLETED).map(({ transcript }) => transcript);
  }

  test("commits get their transcripts through a gateway, even after the loss of an engine node", async () => {
    assertHeard(await turns(async () => {}));
    // Two sessions run, so that the lost node has the lane of at least one of them.
    let lost: Promise<void> | null = null;
    const lose = () => {
      lost ??= nodes[0]!.kill();
      return lost;
    };
    for (const texts of await Promise.all([turns(lose), turns(lose)])) {
      assertHeard(texts);
    }
  });
});

/** Checks that each of the two turns has some letters, because the light models transcribe no words. */
function assertHeard(texts: readonly string[]): void {
  assert.ok(texts.length === 2 && texts.every((text) => text !== ""), texts.join(" | "));
}
