// Sends live WebM, Ogg and Opus to whole services, with each kind of front.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { NatsServer, WITHOUT_NATS } from "../../bench/support/nats-server.js";
import { creditsFor, DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { OggPages } from "../../src/input/media/ogg-pages.js";
import { PagePackets } from "../../src/input/media/opus-stream.js";
import { liveDecodersOf } from "../input/media/processes.js";
import {
  balanceOf,
  compressedSpeech,
  doneOf,
  hear,
  type Message,
  newKey,
  open,
  pieces,
  SPEECH,
  settled,
} from "../support/compressed-live.js";
import { eventually } from "../support/eventually.js";
import { lightModels } from "../support/light-models.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SECONDS = SPEECH.length / 16_000;
/** The duration of a padding packet at the end, which WebM does not report in time. */
const MOST_PADDING_SECONDS = 0.06;
const DECODERS = 4;

let webm: Buffer;
let ogg: Buffer;
let mp4: Buffer;

before(async () => {
  ({ webm, ogg, mp4 } = await compressedSpeech());
});

interface Started {
  readonly service: ServiceProcess;
  /** Of commands on its data. */
  readonly environment?: Readonly<Record<string, string>>;
  stop(): Promise<readonly number[]>;
}

const PEPPER = { KEY_PEPPER: "pepper of a fleet" };
const COMMON = { LIVE_DECODERS: String(DECODERS) };

async function startSingle(settings: Readonly<Record<string, string>>): Promise<Started> {
  const service = await startServiceProcess({ ...(await lightModels()), ...COMMON, ...settings });
  return { service, stop: async () => [(await service.stop()) ?? -1] };
}

async function startFleet(): Promise<Started> {
  const models = await lightModels();
  const nats = await NatsServer.start();
  const fleet = { BUS_URL: nats.url, ...models };
  const [node, service] = await Promise.all([
    startEngineProcess({ ...fleet, SERVE: "live" }) as Promise<EngineProcess>,
    startServiceProcess({ ...fleet, ...COMMON, ROLE: "gateway", ...PEPPER }),
  ]);
  const stop = async () => {
    const codes = await Promise.all([service.stop(), node.stop()]);
    await nats.kill();
    return codes.map((code) => code ?? -1);
  };
  return { service, stop, environment: PEPPER };
}

const withoutUws = typeof loadUwsBinding() === "string" && "the native front does not load here";

for (const [kind, skip, start] of [
  ["two native front threads", withoutUws, () => startSingle({ FRONT: "uws", FRONT_THREADS: "2" })],
  ["the node front", false, () => startSingle({ FRONT: "node" })],
  ["a gateway of a fleet", WITHOUT_NATS, startFleet],
] as const) {
  describe(`compressed live audio on ${kind}`, { concurrency: 1, skip }, () => {
    let started: Started;
    let service: ServiceProcess;
    before(async () => {
      started = await start();
      ({ service } = started);
      await creditDevelopment(service, 1_000_000);
    });
    after(async () => {
      for (const code of await started.stop()) assert.equal(code, 0, service.output());
    });

    test("finals and charges of WebM and Ogg do not depend on the messages", async () => {
      for (const file of [webm, ogg]) {
        const whole = await hear(service, "/v1/stream", [file]);
        assert.equal(whole.closeCode, 1000, JSON.stringify(whole.messages));
        assert.ok(whole.finals.length > 0 && whole.finals.every((text) => text !== ""));
        const { seconds, credits } = doneOf(whole);
        const padding = seconds - SECONDS;
        assert.ok(padding >= 0 && padding <= MOST_PADDING_SECONDS, `${seconds} s of ${SECONDS} s`);
        assert.equal(
          credits,
          creditsFor({ units: Math.round(seconds * 16_000), unitsPerSecond: 16_000 }, DEFAULT_TARIFFS.live),
        );
        for (const size of [100, 1_537]) {
          const cut = await hear(service, "/v1/stream", pieces(file, size));
          assert.deepEqual(cut.finals, whole.finals);
          assert.deepEqual(doneOf(cut), { seconds, credits });
        }
      }
      await eventually("no decoder is left", () => liveDecodersOf(service.child.pid!).length === 0);
    });

    test("Deepgram's paths recognize WebM and Ogg by their first bytes, and take Opus when the query names it", async () => {
      const packets = new PagePackets();
      const bare = new OggPages().push(ogg).flatMap((page) => packets.of(page));
      for (const [path, audio] of [
        ["/v1/listen", pieces(webm, 700)],
        ["/v1/listen?encoding=ogg-opus&sample_rate=48000", pieces(ogg, 700)],
        ["/v1/listen?encoding=opus&sample_rate=48000", bare],
        ["/v1/listen?encoding=opus", pieces(ogg, 700)],
        ["/v1/listen?multichannel=true&encoding=ogg-opus", pieces(ogg, 700)],
        ["/v2/listen", pieces(webm, 700)],
        ["/v2/listen?encoding=opus", bare],
      ] as const) {
        const { finals, messages, closeCode } = await hear(service, path, audio);
        assert.equal(closeCode, 1000, `${path}: ${JSON.stringify(messages)}`);
        assert.ok(finals.length > 0 && finals.every((text) => text !== ""), path);
        if (!path.startsWith("/v1")) continue;
        const { duration = 0 } = messages.find(({ type }) => type === "Metadata")!;
        assert.ok(Math.abs(duration - SECONDS) < 2 * MOST_PADDING_SECONDS, `${path}: ${duration}`);
      }
    });

    test("other files, damage and a lost decoder end the session with a clear error", async () => {
      for (const [path, audio, code, error] of [
        ["/v1/stream", [mp4], 4400, /^unsupported_format: .*received MP4 .*audio\/webm;codecs=opus/],
        [
          "/v1/stream",
          [webm.subarray(0, 400), Buffer.alloc(4_000)],
          4400,
          /^audio_unreadable: cannot decode the WebM: it has an invalid element$/,
        ],
        [
          "/v1/listen?encoding=ogg-opus",
          [webm],
          4400,
          /^unsupported_format: encoding=ogg-opus must be Ogg with Opus, received WebM$/,
        ],
        [
          "/v1/stream?channels=split",
          pieces(webm, 700),
          4400,
          /^unsupported_format: separate channels of live audio must be samples or a WAV with 2 channels, received a WebM file$/,
        ],
        [
          "/v1/listen?multichannel=true&channels=3",
          [ogg],
          4400,
          /^unsupported_format: separate channels of live audio must be .* with 3 channels, received an Ogg file$/,
        ],
      ] as const) {
        const { messages, closeCode } = await hear(service, path, audio);
        const {
          code: name,
          variant = name,
          detail,
          description = detail,
        } = messages.find(({ type }) => /error/i.test(type))!;
        assert.match(`${variant}: ${description}`, error);
        assert.equal(closeCode, code);
      }
    });

    test("Finalize in mid-stream ends the utterance after the audio sent before it", async () => {
      for (const file of [webm, ogg]) {
        const middle = Math.floor(file.length * 0.6);
        const parts = [file.subarray(0, middle), "finalize", file.subarray(middle)] as const;
        const before = doneOf(await hear(service, "/v1/stream", [parts[0]])).seconds;
        for (const path of ["/v1/stream", "/v1/listen", "/v2/listen"]) {
          const { messages, finals, closeCode } = await hear(service, path, parts);
          assert.equal(closeCode, 1000, `${path}: ${JSON.stringify(messages)}`);
          assert.ok(finals.length > 1, `${path}: ${finals}`);
          if (path === "/v2/listen") {
            const manual = messages.filter(({ trigger }) => trigger === "manual");
            assert.equal(manual.length, 1, JSON.stringify(messages));
            continue;
          }
          const marked = messages.filter(({ from_finalize }) => from_finalize === true);
          assert.equal(marked.length, 1, path);
          const [{ text, channel, start = 0, duration = 0, end = start + duration }] = marked as [Message];
          const place = finals.indexOf(text ?? channel!.alternatives[0]!.transcript);
          assert.ok(finals[place] !== "" && place < finals.length - 1, `${path}: ${finals}`);
          assert.ok(end <= before, `${path}: ${end} of ${before} s`);
        }
      }
    });

    test("a killed decoder ends its session with an error, which pays for what was decoded", async () => {
      for (const [file, path] of [
        [webm, "/v1/stream"],
        [ogg, "/v1/listen"],
      ] as const) {
        const middle = Math.floor(file.length * 0.6);
        const half = file.subarray(0, middle);
        const { credits } = doneOf(await hear(service, "/v1/stream", [half]));
        await settled(service);
        const balance = await balanceOf(service);
        const socket = open(service, path);
        const messages: Message[] = [];
        socket.on("message", (data) => messages.push(JSON.parse(String(data))));
        const closed = once(socket, "close");
        await once(socket, "open");
        socket.send(half);
        // Confirms that all of it was decoded.
        socket.send(JSON.stringify({ type: path === "/v1/stream" ? "finalize" : "Finalize" }));
        await eventually("decoded", () => messages.some(({ from_finalize }) => from_finalize === true));
        const [decoder] = liveDecodersOf(service.child.pid!);
        process.kill(decoder!.pid, "SIGKILL");
        socket.send(file.subarray(middle));
        assert.equal((await closed)[0], 1011);
        const { code, variant = code, detail, description = detail } = messages.at(-1)!;
        assert.equal(variant, "worker_lost");
        assert.equal(description, "the decoder of this audio has ended; open another session");
        await settled(service);
        assert.equal(balance - (await balanceOf(service)), credits, path);
        assert.equal(liveDecodersOf(service.child.pid!).length, 0);
        assert.equal((await hear(service, path, [file])).closeCode, 1000);
      }
    });

    test("while all decoders are busy, others get an error, and may send samples", async () => {
      const { environment } = started;
      const keys = [service.key, await newKey(service, environment), await newKey(service, environment)];
      const busy = keys
        .slice(0, 2)
        .flatMap((key) => [0, 1].map(() => open({ ...service, key }, "/v1/stream")));
      await Promise.all(busy.map((socket) => once(socket, "open")));
      for (const socket of busy) socket.send(webm.subarray(0, 500));
      await eventually("all decode", () => liveDecodersOf(service.child.pid!).length === DECODERS);
      const last = { url: service.url, key: keys[2]! };
      for (const [path, audio] of [
        ["/v1/stream", webm],
        ["/v1/listen?encoding=ogg-opus", ogg],
        ["/v2/listen", ogg],
      ] as const) {
        const { messages, closeCode } = await hear(last, path, [audio]);
        const { code, variant = code, detail, description = detail } = messages.at(-1)!;
        assert.deepEqual([closeCode, variant], [1013, "engine_busy"], path);
        assert.equal(
          description,
          "at most 4 live sessions may send WebM, Ogg or Opus at the same time: send PCM, or try again when one has ended",
        );
      }
      const samples = new Uint8Array(SPEECH.buffer, SPEECH.byteOffset, SPEECH.byteLength);
      assert.equal((await hear(last, "/v1/stream", [samples])).closeCode, 1000);
      for (const socket of busy) socket.terminate();
      await eventually("no decoder is left", () => liveDecodersOf(service.child.pid!).length === 0);
      assert.equal((await hear(last, "/v1/stream", [webm])).closeCode, 1000);
    });

    test("decoders end with their clients, and are limited per organization", async () => {
      const sockets = [open(service, "/v1/stream"), open(service, "/v1/listen")];
      await Promise.all(sockets.map((socket) => once(socket, "open")));
      for (const socket of sockets) socket.send(webm.subarray(0, 500));
      await eventually("both decode", () => liveDecodersOf(service.child.pid!).length === DECODERS / 2);
      const { messages, closeCode } = await hear(service, "/v1/stream", [ogg]);
      assert.equal(closeCode, 4429);
      assert.match(messages.at(-1)!.detail!, /^at most 2 live sessions of an organization may send WebM/);
      sockets[0]!.terminate();
      sockets[1]!.close();
      await eventually("no decoder is left", () => liveDecodersOf(service.child.pid!).length === 0);
      assert.equal((await hear(service, "/v1/stream", [ogg])).closeCode, 1000);
    });

    test("a recording sent faster than real time is limited as uncompressed samples are", async () => {
      // The recording is decoded far faster than it is transcribed.
      const minutes = pieces(Buffer.concat(Array.from({ length: 400 }, () => webm)), 60_000);
      const { messages, closeCode } = await hear(service, "/v1/stream", minutes);
      assert.deepEqual([closeCode, messages.at(-1)!.code], [4400, "too_fast"]);
      await eventually("no decoder is left", () => liveDecodersOf(service.child.pid!).length === 0);
    });
  });
}
