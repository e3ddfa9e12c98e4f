// `npm run soak`: a day of traffic in fast motion, on 127.0.0.1 only. Prints the figures in which a leak
// would show.
import { parseArgs } from "node:util";
import { runLive } from "../../bench/support/live-client.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { silence, speech } from "../support/audio.js";
import { momentOfFault, pace } from "../support/pace.js";
import { creditDevelopment } from "../support/service-process.js";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";
import { chunk } from "./support/floods.js";
import { RawConnection } from "./support/raw-connection.js";
import { frame, OPCODE, WebSocketClient } from "./support/web-socket-client.js";

const HELP = `npm run soak -- [--front uws] [--rounds 1440] [--every 60] [--minutes 60]
A round is a minute of a small service's day: requests, uploads, live sessions, clients that leave, wrong keys.
Prints resident memory, descriptors and spooled files every so many rounds; ends after --rounds or --minutes.
Exits with 1 when something stayed behind.`;
const CREDITS = 50_000_000;
/** Memory is compared with its size once models, caches and pools were warm. */
const WARM_ROUNDS = 60;
const MOST_GROWTH = 1.25;
const MOST_NEW_DESCRIPTORS = 16;

interface Sample {
  readonly round: number;
  readonly residentMib: number;
  readonly descriptors: number;
  readonly spooled: number;
}

type Visit = (service: AttackedService) => Promise<void>;

const WAV = new Uint8Array(writeWav(silence(0.5), 16_000));
const SPOKEN = speech("asterisk-ru-core/vm-goodbye.flac");

/** Events of a round, each of which happens once. */
const VISITS: Readonly<Record<string, Visit>> = {
  speech: async (service) => {
    await (await post(service, "/v1/tts", JSON.stringify({ text: "Ия.", nfe: 4 }))).arrayBuffer();
  },
  "speech that nobody waits for": async (service) => {
    const leaving = new AbortController();
    const asked = post(service, "/v1/tts/stream", JSON.stringify({ text: "Сәлем.", nfe: 4 }), leaving.signal);
    void momentOfFault(20).then(() => leaving.abort());
    await asked.then((answer) => answer.arrayBuffer()).catch(() => {});
  },
  file: async (service) => {
    await (await post(service, "/v1/transcribe", WAV)).arrayBuffer();
  },
  "a file that is none": async (service) => {
    await (await post(service, "/v1/transcribe", new Uint8Array(2_000).fill(7))).arrayBuffer();
  },
  "an upload that is broken off": async (service) => {
    const connection = await RawConnection.open(service.port);
    await connection.write(
      `POST /v1/transcribe HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${service.key}\r\n` +
        "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    await connection.write(chunk("x".repeat(100_000)));
    connection.destroy();
  },
  "live session": async (service) => {
    await runLive({ url: service.url, key: service.key, pcm: SPOKEN, isPaced: false, messageSamples: 640 });
  },
  "live session that is broken off": async (service) => {
    const { port, key } = service;
    const client = await WebSocketClient.open({ port, path: "/v1/stream", key });
    await client.write(frame(new Uint8Array(32_000), { opcode: OPCODE.binary }));
    client.connection.destroy();
  },
  "live session that talks nonsense": async (service) => {
    const { port, key } = service;
    const client = await WebSocketClient.open({ port, path: "/v1/listen", key });
    for (let i = 0; i < 10; i++) await client.sendText("{");
    await client.ended();
  },
  "a wrong key": async (service) => {
    const headers = { authorization: `Bearer sk-svc-${"0".repeat(48)}` };
    await (await fetch(`${service.url}/v1/usage`, { headers })).arrayBuffer();
  },
  catalog: async (service) => {
    for (const path of ["/health", "/ready", "/v1/models", "/openapi.json"])
      await (await fetch(service.url + path)).arrayBuffer();
  },
};

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      front: { type: "string", default: ATTACKED_FRONTS[0]!.name },
      rounds: { type: "string", default: "1440" },
      every: { type: "string", default: "60" },
      minutes: { type: "string", default: "60" },
      help: { type: "boolean", default: false },
    },
  });
  const front = ATTACKED_FRONTS.find(({ name }) => name === values.front);
  if (values.help || front === undefined) {
    console.error(HELP);
    return 2;
  }
  const service = await AttackedService.start(front);
  await creditDevelopment(service.process, CREDITS);
  const untilMs = performance.now() + Number(values.minutes) * 60_000;
  const samples: Sample[] = [];
  for (let round = 0; round <= Number(values.rounds) && performance.now() < untilMs; round++) {
    if (round % Number(values.every) === 0) {
      samples.push(await look(service, round));
      console.log(JSON.stringify(samples.at(-1)));
    }
    await Promise.all(Object.values(VISITS).map((visit) => visit(service)));
  }
  const problems = leaks(samples);
  await service.stopSound();
  for (const problem of problems) console.log(problem);
  return problems.length > 0 ? 1 : 0;
}

async function look(service: AttackedService, round: number): Promise<Sample> {
  await service.untilIdle();
  // Connections of clients that left are still being closed.
  await pace(200);
  return {
    round,
    residentMib: Math.round(service.process.residentBytes() / 2 ** 20),
    descriptors: service.descriptors(),
    spooled: service.spooledFiles().length,
  };
}

function leaks(samples: readonly Sample[]): string[] {
  const warm = samples.find(({ round }) => round >= WARM_ROUNDS);
  const last = samples.at(-1);
  if (warm === undefined || last === undefined) return [];
  return [
    ...(last.residentMib > warm.residentMib * MOST_GROWTH ? ["resident memory has grown"] : []),
    ...(last.descriptors > warm.descriptors + MOST_NEW_DESCRIPTORS ? ["descriptors have grown"] : []),
    ...(last.spooled > 0 ? ["files were left in the spool folder"] : []),
  ];
}

function post(
  service: AttackedService,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(service.url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.key}`,
      "content-type": typeof body === "string" ? "application/json" : "application/octet-stream",
    },
    body,
    ...(signal !== undefined && { signal }),
  });
}
