import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { detectStreamedFile } from "../../core/domain/audio/container.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { ThreadedFront } from "../../src/front/threads/threaded-front.js";
import { DOWN_KEY, GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { SILENT } from "../support/silent-log.js";

const bytes = (...parts: (string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : Buffer.from(part))),
  );
const singly = (whole: Uint8Array) => [...whole].map((byte) => Uint8Array.of(byte));
/** A frame of MPEG-1 layer 3 with 64 kbit/s at 44.1 kHz. */
const FRAME = bytes([0xff, 0xfb, 0x50, 0xc4], new Array(204).fill(0));

const FILES = [
  ["WebM", bytes([0x1a, 0x45, 0xdf, 0xa3, 0x9f, 0x42, 0x86, 0x81, 1])],
  ["Ogg", bytes("OggS", [0, 2], new Array(22).fill(0), "OpusHead")],
  ["MP4", bytes([0, 0, 0, 24], "ftypiso5")],
  ["FLAC", bytes("fLaC", [0, 0, 0, 34])],
  ["MP3", bytes("ID3", [4, 0, 0, 0, 0, 0, 35])],
  ["MP3", bytes([...FRAME], [...FRAME])],
] as const;

/** Samples that begin like a file but are not one. */
const SAMPLES = [
  bytes([0x1a, 0x45, 0xdf, 0xa4, 0, 0]),
  bytes("OggS", [9, 2]),
  bytes("RIFF", [0, 0, 0, 0], "WAVE".toLowerCase()),
  bytes([0, 1, 0, 24], "ftypiso5"),
  bytes("ID3", [200, 200, 0, 0, 0, 0, 35]),
  bytes([...FRAME.subarray(0, 100)], [...FRAME]),
  bytes(new Array(640).fill(0xff)),
  bytes(...new Array(320).fill([0xff, 0xfb])),
];

for (const samples of SAMPLES) {
  test(`samples are recognized as samples: ${samples.toString("hex", 0, 12)}`, () => {
    assert.equal(detectStreamedFile(samples), null);
  });
}

for (const front of [...FRONTS, ...(FRONTS.includes("uws") ? (["threads"] as const) : [])]) {
  describe(`the start of live audio on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    before(async () => {
      running =
        front === "threads"
          ? await startTransport("uws", {
              makeFront: (handlers) => new ThreadedFront({ threadCount: 2, handlers, log: SILENT }),
            })
          : await startTransport(front);
    });
    after(() => running.stop());

    const open = (path: string, key = GOOD_KEY) =>
      new WebSocket(`ws://127.0.0.1:${running.port}${path}`, { headers: { authorization: `Bearer ${key}` } });
    /** Sends messages and returns the number of sample bytes that have reached the session. */
    const heard = async (path: string, messages: readonly Uint8Array[]): Promise<number> => {
      const socket = open(path);
      await once(socket, "open");
      for (const message of messages) socket.send(message);
      socket.send(`{"type":"${path.startsWith("/v1/listen") ? "Finalize" : "finalize"}"}`);
      const [data] = await once(socket, "message");
      socket.terminate();
      const { detail, description = detail } = JSON.parse(String(data)) as Record<string, string>;
      assert.match(description ?? "", /^finalize \d+$/);
      return Number(description!.slice("finalize ".length));
    };
    const refused = async (path: string, messages: readonly Uint8Array[]) => {
      const socket = open(path);
      const told: Record<string, string>[] = [];
      socket.on("message", (data) => told.push(JSON.parse(String(data))));
      const closed = once(socket, "close");
      await once(socket, "open");
      for (const message of [...messages, Buffer.alloc(3_200)]) socket.send(message);
      // This message ends the bytes that were mistaken for samples.
      socket.send(`{"type":"${path.startsWith("/v1/listen") ? "CloseStream" : "close"}"}`);
      const [code] = await closed;
      assert.deepEqual([code, told.length], [4400, 1]);
      const { code: name, variant = name, detail, description = detail } = told[0]!;
      return `${variant}: ${description}`;
    };

    for (const [name, file] of FILES) {
      for (const path of ["/v1/stream", "/v1/listen?sample_rate=48000"]) {
        test(`${path} rejects ${name} and names the format (${file.toString("hex", 0, 4)})`, async () => {
          const pattern = new RegExp(
            `^unsupported_format: live audio must be .* received ${name} .*AudioWorklet`,
          );
          assert.match(await refused(path, [file]), pattern);
          // Frames without a signature must be consecutive.
          if (file.length > FRAME.length) return;
          // Chromium's recorder sends its first byte alone.
          assert.match(await refused(path, [file.subarray(0, 1), file.subarray(1)]), pattern);
          assert.match(await refused(path, singly(file)), pattern);
        });
      }
    }

    test("with encoding=linear16 every byte of every message is a sample", async () => {
      const [, webm] = FILES[0];
      assert.equal(await heard("/v1/listen?encoding=linear16", [webm.subarray(0, 8)]), 8);
      assert.equal(await heard("/v1/stream", [Buffer.alloc(2), webm]), 2 + webm.length);
      // The bytes are held back until the format is certain, then passed on completely.
      assert.equal(await heard("/v1/stream", [webm.subarray(0, 3)]), 3);
      assert.equal(await heard("/v1/stream", singly(Buffer.alloc(40))), 40);
      assert.equal(await heard("/v1/stream", [webm.subarray(0, 3), Buffer.alloc(40)]), 43);
    });

    test("a WAV is transcribed without its header, however it is chunked", async () => {
      const wav = writeWav(new Int16Array(1_600), 16_000);
      for (const messages of [
        [wav],
        [wav.subarray(0, 20), wav.subarray(20)],
        [wav.subarray(0, 44), wav.subarray(44)],
      ])
        assert.equal(await heard("/v1/stream", messages), 3_200);
      assert.equal(
        await heard("/v1/stream", [wav.subarray(0, 12), ...singly(wav.subarray(12, 60)), wav.subarray(60)]),
        3_200,
      );
      // The audio is resampled, so the resampler retains some samples.
      const doubled = await heard("/v1/listen?sample_rate=48000", [writeWav(new Int16Array(1_600), 8_000)]);
      assert.ok(doubled > 5_000 && doubled <= 6_400, String(doubled));
    });

    test("a WAV with an unsupported sample format or an endless header is rejected", async () => {
      const stereo = Buffer.from(writeWav(new Int16Array(10), 16_000));
      stereo.writeUInt16LE(2, 22);
      stereo.writeUInt16LE(4, 32);
      const rule = /^unsupported_format: a live WAV must have one channel of 16-bit pcm.*, received/;
      assert.match(await refused("/v1/stream", [stereo]), rule);
      assert.match(await refused("/v1/listen", [stereo]), rule);
      assert.match(await refused("/v1/stream", [writeWav(new Int16Array(10), 8_000)]), /at 8000 Hz$/);
      const endless = bytes("RIFF", [0, 0, 0, 0], "WAVE", "LIST", [0, 0, 1, 0], new Array(5_000).fill(0));
      assert.match(await refused("/v1/stream", [endless]), /header of a live WAV must be at most 4096 bytes/);
    });

    test("a rejected handshake also reports the reason in the dg-error header, in visible ASCII", async () => {
      for (const [path, key, status, reason] of [
        ["/v1/listen?diarize=true", GOOD_KEY, 400, /^diarize is not supported$/],
        ["/v1/listen", `sk-svc-${"ab".repeat(24)}`, 401, /^missing or invalid API key$/],
        ["/v1/listen", DOWN_KEY, 503, /cannot be asked/],
        [`/v1/listen?language=${encodeURIComponent("қазақ")}`, GOOD_KEY, 400, /received "\?{5}"$/],
      ] as const) {
        const socket = open(path, key);
        socket.on("error", () => {});
        const [, answer] = await once(socket, "unexpected-response");
        assert.equal(answer.statusCode, status);
        assert.match(answer.headers["dg-error"], reason);
        assert.match(answer.headers["dg-request-id"], /^req_/);
        socket.terminate();
      }
    });

    test("the handshake names ignored parameters, if any", async () => {
      for (const [query, ignored] of [
        [
          "language=ru&punctuate=true&filler_words=true&diarize=false&redact=phone&tag=a&tag=b",
          "language,filler_words,tag",
        ],
        ["language=multi&interim_results=true&model=nova-3", undefined],
        [`new_option=1&${encodeURIComponent("x\r\ny")}=1`, "new_option"],
      ] as const) {
        const socket = open(`/v1/listen?${query}`);
        const [answer] = await once(socket, "upgrade");
        assert.equal(answer.headers["x-svc-ignored"], ignored);
        socket.terminate();
      }
    });
  });
}
