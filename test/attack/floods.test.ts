import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { creditsFor, LIVE_TARIFF } from "../../core/domain/usage/tariff.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { pace } from "../support/pace.js";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";
import { samplesSpoken, startBystander } from "./support/bystander.js";
import { chunk } from "./support/floods.js";
import { HealthProbe } from "./support/health-probe.js";
import { RawConnection } from "./support/raw-connection.js";
import { type CloseFrame, frame, OPCODE, repeated, WebSocketClient } from "./support/web-socket-client.js";

const EMPTY = new Uint8Array(0);
const ONE = new Uint8Array(1);
const text = (content: string) => frame(content, { opcode: OPCODE.text });
const binary = (bytes: number) => frame(new Uint8Array(bytes), { opcode: OPCODE.binary });

const FORCE_END = text('{"type":"ForceEndTurn"}');
const SESSION_UPDATE = '{"type":"session.update","session":{"type":"transcription"}}';
const NO_BASE64 = `{"type":"input_audio_buffer.append","audio":"${"*".repeat(1_000)}"}`;
const ONE_SAMPLE = '{"type":"input_audio_buffer.append","audio":"AAA="}';

/** The floods, each with one unit that is repeated far more often than any client needs. */
const FLOODS: readonly { readonly name: string; readonly path?: string; readonly unit: Buffer }[] = [
  { name: "one-byte audio", unit: binary(1) },
  { name: "empty audio", unit: binary(0) },
  { name: "finalize", unit: text('{"type":"finalize"}') },
  { name: "audio and finalize", unit: Buffer.concat([binary(64), text('{"type":"finalize"}')]) },
  { name: "keepalive", unit: text('{"type":"keepalive"}') },
  { name: "unknown messages", unit: text('{"type":"x"}') },
  { name: "pings", unit: frame(EMPTY, { opcode: OPCODE.ping }) },
  {
    name: "pings between fragments",
    unit: Buffer.concat([
      frame(ONE, { opcode: OPCODE.binary, isFinal: false }),
      repeated(frame(EMPTY, { opcode: OPCODE.ping }), 8),
      frame(ONE, { opcode: OPCODE.continuation }),
    ]),
  },
  { name: "msgpack, one-byte audio", path: "/v1/stream?encoding=msgpack", unit: binary(1) },
  { name: "realtime, commit", path: "/v1/realtime", unit: text('{"type":"input_audio_buffer.commit"}') },
  { name: "realtime, one sample", path: "/v1/realtime", unit: text(ONE_SAMPLE) },
  { name: "realtime, garbage text", path: "/v1/realtime", unit: text("{") },
  { name: "realtime, no base64", path: "/v1/realtime", unit: text(NO_BASE64) },
  { name: "realtime, clear", path: "/v1/realtime", unit: text('{"type":"input_audio_buffer.clear"}') },
  { name: "realtime, session.update", path: "/v1/realtime", unit: text(SESSION_UPDATE) },
  { name: "listen, one-byte audio", path: "/v1/listen", unit: binary(1) },
  { name: "listen, Finalize", path: "/v1/listen", unit: text('{"type":"Finalize"}') },
  { name: "listen, KeepAlive", path: "/v1/listen", unit: text('{"type":"KeepAlive"}') },
  { name: "turns, one-byte audio", path: "/v2/listen", unit: binary(1) },
  {
    name: "turns, audio and ForceEndTurn",
    path: "/v2/listen",
    unit: Buffer.concat([binary(640), FORCE_END]),
  },
  { name: "turns, Configure", path: "/v2/listen", unit: text('{"type":"Configure","thresholds":{}}') },
  { name: "turns, pings", path: "/v2/listen", unit: frame(EMPTY, { opcode: OPCODE.ping }) },
];
const FORM = "multipart/form-data; boundary=b";
const FORM_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
const EVENTS_FIELD = '--b\r\nContent-Disposition: form-data; name="stream"\r\n\r\ntrue\r\n';
const UPLOADS = [
  ["a raw upload", "/v1/transcribe", "application/octet-stream", ""],
  ["a form", "/v1/audio/transcriptions", FORM, FORM_HEAD],
  ["a form for events", "/v1/audio/transcriptions", FORM, EVENTS_FIELD + FORM_HEAD],
  ["an upload in Deepgram's shape", "/v1/listen", "application/octet-stream", ""],
] as const;
const UNITS = 60_000;
/** Frames that no client may send, each with its RFC 6455 close code. */
const BROKEN_FRAMES: readonly (readonly [name: string, bytes: Buffer, code: number])[] = [
  [
    "no mask",
    repeated(frame(new Uint8Array(64).fill(255), { opcode: OPCODE.binary, isMasked: false }), 64),
    1002,
  ],
  ["a reserved bit", frame(ONE, { opcode: OPCODE.binary, reserved: 4 }), 1002],
  ["a reserved opcode", frame(ONE, { opcode: 3 }), 1002],
  ["a ping in fragments", frame(ONE, { opcode: OPCODE.ping, isFinal: false }), 1002],
  ["a long ping", frame(new Uint8Array(126), { opcode: OPCODE.ping }), 1002],
  ["a fragment of nothing", frame(ONE, { opcode: OPCODE.continuation }), 1002],
  ["text that is not UTF-8", frame(Uint8Array.of(0xff), { opcode: OPCODE.text }), 1007],
];
/** Live protocols, each with the message to send after the handshake, if any. */
const LIVE_PATHS: readonly (readonly [path: string, first: string | null])[] = [
  ["/v1/stream", "ready"],
  ["/v1/listen", null],
  ["/v2/listen", "Connected"],
  ["/v1/realtime", "session.created"],
];
/** Protocols whose sessions count invalid messages, each with the code in its errors. */
const COUNTING_PATHS = [
  ["/v1/stream", "error", "code"],
  ["/v1/listen", "Error", "variant"],
  ["/v2/listen", "Error", "code"],
] as const;
/**
 * At least one message too many, but few enough that the longest are not a flood, which would be reported
 * immediately.
 */
const GARBAGE_UNITS = 12;
const BYSTANDER_UTTERANCES = 4;
/** A client that gets 429 tries again after this time. */
const RETRY_MS = 100;
const PROBE_MS = 30;
/** No flood requests speech, whose model takes the longest to load. */
const NO_SPEECH = { SERVE: "transcription,live" };

for (const front of ATTACKED_FRONTS) {
  describe(`floods on ${front.name}`, { concurrency: 1 }, () => {
    let service: AttackedService;
    let attacker: { readonly id: string; readonly key: string };

    before(async () => {
      service = await AttackedService.start(front, {
        ...(await lightModels()),
        ...NO_SPEECH,
        DATA_DIR: await temporaryFolder(),
        DRAIN_S: "1",
      });
      attacker = await service.newCustomer();
    });
    after(async () => {
      if (service.isAlive) await service.stopSound();
    });

    const open = (path = "/v1/stream") =>
      WebSocketClient.open({ port: service.port, path, key: attacker.key });

    /** Sends until the service closes the socket, which must happen soon. */
    async function flood(
      unit: Buffer,
      { path, units = UNITS }: { readonly path?: string | undefined; readonly units?: number } = {},
    ): Promise<{ readonly client: WebSocketClient; readonly closeFrame: CloseFrame | null }> {
      let client = await open(path);
      await eventually("a client that has flooded is let in again", async () => {
        if (client.status !== 429) return true;
        client.connection.destroy();
        await pace(RETRY_MS);
        client = await open(path);
        return false;
      });
      assert.equal(client.status, 101);
      const sent = client.write(repeated(unit, units));
      const closeFrame = await client.ended();
      await sent;
      return { client, closeFrame };
    }

    test("closes every kind of flood with a reason while serving other clients", async () => {
      const other = await service.newCustomer();
      const bystander = startBystander({
        url: service.url,
        key: other.key,
        utterances: BYSTANDER_UTTERANCES,
      });
      const probe = new HealthProbe(service.port, { paceMs: PROBE_MS });
      for (const { name, path, unit } of FLOODS) {
        const { client, closeFrame } = await flood(unit, { path });
        assert.deepEqual(closeFrame, { code: 4400, reason: "too_many_messages" }, name);
        if (path === undefined) {
          const [error, ...more] = client.messages("error");
          assert.equal(error?.["code"], "too_many_messages", name);
          assert.match(String(error?.["detail"]), /at most 600 text messages at once/);
          assert.deepEqual(more, [], name);
        }
      }
      const { failures, count } = await probe.stop();
      assert.equal(failures, 0, `${failures} of ${count} times /health failed`);
      const { finals, closeCode } = await bystander.result;
      assert.equal(closeCode, 1000);
      assert.equal(finals.length, BYSTANDER_UTTERANCES);
      await service.untilIdle();
      const units = samplesSpoken(BYSTANDER_UTTERANCES);
      const credits = creditsFor({ units, unitsPerSecond: 16_000 }, LIVE_TARIFF);
      assert.equal(await service.chargedTo(other.id), credits);
    });

    test("ten invalid messages end a session; each gets an error until then", async () => {
      for (const [path, type, member] of COUNTING_PATHS) {
        for (const garbage of ["{", "", "\u0000", "[".repeat(10_000), "[".repeat(100_000)]) {
          const { client, closeFrame } = await flood(text(garbage), { path, units: GARBAGE_UNITS });
          assert.deepEqual(closeFrame, { code: 4400, reason: "too_many_messages" });
          const codes = client.messages(type).map((error) => error[member]);
          const expected = [...Array.from({ length: 10 }, () => "bad_message"), "too_many_messages"];
          assert.deepEqual(codes, expected, path);
        }
      }
    });

    test("short audio messages far ahead of real time are transcribed to the last sample", async () => {
      const client = await open();
      await client.untilMessage("ready");
      // 50 s of audio in messages of 10 ms, all sent together.
      await client.write(repeated(binary(320), 5_000));
      await client.sendText('{"type":"close"}');
      assert.deepEqual(await client.ended(), { code: 1000, reason: "done" });
      assert.equal(client.messages("done")[0]?.["audio_seconds"], 50);
    });

    test("a message in endless fragments ends the connection", async () => {
      const client = await open();
      await client.write(frame(ONE, { opcode: OPCODE.binary, isFinal: false }));
      void client.write(repeated(frame(ONE, { opcode: OPCODE.continuation, isFinal: false }), 5_000_000));
      // There is no code if the library itself ends the connection.
      await client.connection.until(() => client.closeFrame !== null || client.connection.isClosed);
      client.connection.destroy();
      assert.equal(await service.healthStatus(), 200);
    });

    test("frames that break the protocol end the connection and are not transcribed", async () => {
      const charged = await service.chargedTo(attacker.id);
      for (const [path, first] of LIVE_PATHS) {
        for (const [name, bytes, code] of BROKEN_FRAMES) {
          const client = await open(path);
          if (first !== null) await client.untilMessage(first);
          await client.write(bytes);
          await client.connection.until(() => client.closeFrame !== null || client.connection.isClosed);
          // The native library ignores the mask, and ends the connection without a close frame.
          if (front.name === "node") assert.equal(client.closeFrame?.code, code, `${path}, ${name}`);
          client.connection.destroy();
        }
      }
      await service.untilIdle();
      if (front.name === "node") assert.equal(await service.chargedTo(attacker.id), charged);
      assert.equal(await service.healthStatus(), 200);
    });

    test("a session without a free slot is rejected before its resampling filter is built", async () => {
      const { port } = service;
      const customer = await service.newCustomer();
      const ask = (rate: number) =>
        WebSocketClient.open({ port, path: `/v1/listen?sample_rate=${rate}`, key: customer.key });
      const { key } = customer;
      const held = await Promise.all(
        Array.from({ length: 20 }, () => WebSocketClient.open({ port, path: "/v1/stream", key })),
      );
      // By then every front has taken a slot.
      for (const client of held) assert.ok(await client.untilMessage("ready"));
      // A caller without a free slot gets that error even for an invalid request, which is not parsed.
      for (const rate of [47_999, 1]) assert.equal((await ask(rate)).status, 429);
      for (const { connection } of held) connection.destroy();
    });

    test("unfinished handshakes do not block other clients", async () => {
      const halves = await Promise.all(Array.from({ length: 200 }, () => RawConnection.open(service.port)));
      for (const half of halves)
        await half.write("GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: web");
      assert.equal(await service.healthStatus(), 200);
      const client = await open();
      assert.ok(await client.untilMessage("ready"));
      await client.sendText('{"type":"close"}');
      assert.equal((await client.ended())?.code, 1000);
      for (const half of halves) half.destroy();
    });

    test("any WebSocket version except 13 is rejected with the supported version", async () => {
      for (const version of ["12", "8", "0", "130", "13, 8"]) {
        const { port } = service;
        const client = await WebSocketClient.open({ port, path: "/v1/stream", key: attacker.key, version });
        assert.equal(client.status, 426, version);
        await client.connection.until(({ text }) => text.includes("}"));
        assert.match(client.connection.text, /sec-websocket-version: 13\r\n/i);
        assert.match(
          client.connection.text,
          /\{"detail":"the Sec-WebSocket-Version header must be 13, received /,
        );
        client.connection.destroy();
      }
    });

    for (const [kind, path, type, first] of UPLOADS) {
      test(`${kind} in one-byte chunks is rejected with the broken rule, and cleaned up when its client leaves`, async () => {
        const connection = await RawConnection.open(service.port);
        await connection.write(uploadHead(path, type, attacker.key));
        if (first !== "") await connection.write(chunk(first));
        void connection.write(repeated(chunk("x"), 2_000_000));
        assert.ok(await connection.until(({ text }) => text.includes('"}')));
        assert.match(connection.text, /^HTTP\/1.1 400 /);
        assert.match(
          connection.text,
          /"a body must not arrive in more than 5000 chunks of less than 256 bytes a second/,
        );
        connection.destroy();
        // Leave in the middle of the body, with the kernels' buffers full.
        const leaving = await RawConnection.open(service.port);
        await leaving.write(uploadHead(path, type, attacker.key));
        if (first !== "") await leaving.write(chunk(first));
        // The address has just flooded, so its budget is reduced.
        await leaving.write(repeated(chunk("x"), 100));
        await eventually("its file is there", () => service.spooledFiles().length === 1);
        leaving.destroy();
        await service.untilIdle();
        assert.deepEqual(service.spooledFiles(), []);
        assert.equal(await service.healthStatus(), 200);
      });
    }

    // This must be the last test, because it ends the service.
    test("SIGTERM during uploads leaves a consistent ledger and no files", async () => {
      await service.assertSound();
      const uploads = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const connection = await RawConnection.open(service.port);
          await connection.write(uploadHead("/v1/transcribe", "application/octet-stream", service.key));
          await connection.write(chunk("x".repeat(200_000)));
          return connection;
        }),
      );
      await eventually("the uploads are spooled", () => service.spooledFiles().length === uploads.length);
      assert.equal(await service.process.stop(), 0, service.process.output());
      assert.deepEqual(service.spooledFiles(), []);
      for (const connection of uploads) connection.destroy();
    });
  });
}

function uploadHead(path: string, type: string, key: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
  );
}
