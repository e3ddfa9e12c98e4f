import assert from "node:assert/strict";
import { cp, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { spokenBy } from "../../bench/support/marked-speakers.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { DauysClient } from "../../src/client/node.js";
import { speech } from "../support/audio.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const RATE_HZ = 16_000;
const SERVE = "transcription";
const SAID = speech("kazakh-speech-commands/example_1.flac", RATE_HZ);
/** Two speakers: one speaks before and after the other. */
const WAV = writeWav(spokenBy([0, 2, 0].map((speaker) => ({ pcm: SAID, speaker }))), RATE_HZ);

describe("speakers of recordings on engine nodes over NATS", { skip: WITHOUT_NATS }, () => {
  let withModel: { readonly MODELS_DIR: string };
  let nats: NatsServer;
  let alone: ServiceProcess;
  let gateway: ServiceProcess;
  const nodes: EngineProcess[] = [];
  const startNode = async (models: { readonly MODELS_DIR: string }) => {
    nodes.push(await startEngineProcess({ ...models, SERVE, FILE_WORKERS: "1", BUS_URL: nats.url }));
  };

  before(async () => {
    const without = await lightModels();
    const folder = await temporaryFolder();
    for (const name of await readdir(without.MODELS_DIR))
      await symlink(join(without.MODELS_DIR, name), join(folder, name));
    await cp("test/fixtures/adapters/tiny-pyannote", join(folder, "tiny-pyannote"), { recursive: true });
    withModel = { MODELS_DIR: folder };
    nats = await NatsServer.start();
    [gateway, alone] = await Promise.all([
      startServiceProcess({
        ...withModel,
        ...{ SERVE, ROLE: "gateway", KEY_PEPPER: "pepper of a fleet", BUS_URL: nats.url },
      }),
      startServiceProcess({ ...withModel, SERVE }),
      startNode(without),
    ]);
  });
  after(async () => {
    assert.equal(await gateway.stop(), 0, gateway.output());
    assert.equal(await alone.stop(), 0, alone.output());
    for (const node of nodes) assert.equal(await node.stop(), 0, node.output());
    await nats.kill();
  });

  const clientOf = ({ url, key }: ServiceProcess) => new DauysClient({ baseUrl: url, apiKey: key });
  const offers = async () => (await clientOf(gateway).recognizers()).every(({ diarize }) => diarize === true);

  test("while no engine has the model, a request for speakers is rejected by name and not charged", async () => {
    await eventually("the engine without the model is heard", async () => !(await offers()));
    const client = clientOf(gateway);
    const { available } = await client.balance();
    const rejection = { status: 400, code: "diarization_unavailable" };
    await assert.rejects(client.transcribe(WAV, { diarize: true }), {
      ...rejection,
      message: /diarize requires an engine with the model tiny-pyannote, and none is running/,
    });
    await assert.rejects(client.jobs.submit(WAV, { diarize: true }), rejection);
    const plain = await client.transcribe(WAV, { timestamps: true });
    assert.equal(plain.speakers, undefined);
    await eventually(
      "only the plain request is charged",
      async () => (await client.balance()).available === available - plain.credits_charged,
    );
  });

  test("an engine with the model finds the speakers that one process finds, for requests and jobs", async () => {
    await startNode(withModel);
    await eventually("the engine with the model is heard", offers);
    const client = clientOf(gateway);
    const shownOf = ({ text, words, segments, speakers }: Transcription) => {
      return { text, words, segments, speakers };
    };
    const expected = shownOf(await clientOf(alone).transcribe(WAV, { diarize: true }));
    assert.equal(expected.speakers, 2);
    assert.deepEqual(shownOf(await client.transcribe(WAV, { diarize: true })), expected);
    const job = await client.jobs.submit(WAV, { diarize: true });
    const ended = await client.jobs.wait(job.id);
    assert.equal(ended.status, "done", JSON.stringify(ended.error));
    assert.deepEqual(shownOf(await client.jobs.result(job.id)), expected);
    assert.match(
      await client.jobs.resultText(job.id, "txt"),
      /^Speaker 1: .+\nSpeaker 2: .+\nSpeaker 1: .+\n$/,
    );
  });
});
