// Hostile clients of a speaking socket: floods, invalid frames, readers that stall, and clients that leave.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { pace } from "../support/pace.js";
import { synthesisCredits } from "../support/prices.js";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";
import { HealthProbe } from "./support/health-probe.js";
import { type CloseFrame, frame, OPCODE, repeated, WebSocketClient } from "./support/web-socket-client.js";

const UNITS = 20_000;
const MANY = ["too_many_messages"];
const text = (content: string) => frame(content, { opcode: OPCODE.text });

interface Attack {
  readonly name: string;
  readonly unit: Buffer;
  readonly reasons?: readonly string[];
}

/** A protocol of speaking sockets. */
class Wire {
  readonly path: string;
  /** Type of the first message, and type of the answer to a flush. */
  readonly ready: string;
  readonly flushed: string;
  readonly flush: string;
  readonly clear: string;
  readonly close: string;
  readonly keepalive: string;
  readonly #text: string;

  constructor(path: string, types: readonly [string, string, string, string, string, string, string]) {
    this.path = path;
    const [ready, flushed, spoken, ...commands] = types;
    this.ready = ready;
    this.flushed = flushed;
    this.#text = spoken;
    const [flush = "", clear = "", close = "", keepalive = ""] = commands.map((type) => `{"type":"${type}"}`);
    this.flush = flush;
    this.clear = clear;
    this.close = close;
    this.keepalive = keepalive;
  }

  said(content?: string): string {
    return JSON.stringify({ type: this.#text, text: content });
  }

  speak(content: string): Buffer {
    return text(this.said(content));
  }

  get floods(): readonly Attack[] {
    const clear = text(this.clear);
    const marks = this.speak(". ! ? … ".repeat(20));
    return [
      { name: "letters", unit: this.speak("а") },
      { name: "sentences of emoji", unit: this.speak("😀. ") },
      { name: "flushes", unit: text(this.flush) },
      { name: "clears", unit: clear },
      { name: "sentences that are cleared", unit: Buffer.concat([this.speak("Сәлем. "), clear]) },
      { name: "marks without a sentence", unit: marks, reasons: [...MANY, "too_fast"] },
      { name: "keepalives", unit: text(this.keepalive) },
      { name: "pings", unit: frame(new Uint8Array(0), { opcode: OPCODE.ping }) },
    ];
  }

  /** Whatever happens, the socket must close without a flood. */
  get garbage(): readonly Attack[] {
    const waiting = this.speak("сөз ".repeat(1_200));
    return [
      { name: "no JSON", unit: text("{") },
      { name: "no text", unit: text(this.said()) },
      { name: "long text", unit: this.speak("а".repeat(5_001)) },
      { name: "sound", unit: frame(new Uint8Array(320), { opcode: OPCODE.binary }) },
      { name: "more text than may wait", unit: waiting, reasons: ["too_fast", ...MANY] },
    ];
  }
}

const WIRES = [
  new Wire("/v1/speak", ["Metadata", "Flushed", "Speak", "Flush", "Clear", "Close", "KeepAlive"]),
  new Wire("/v1/tts/live", ["ready", "flushed", "text", "flush", "cancel", "close", "keepalive"]),
];
const BROKEN_FRAMES: readonly Buffer[] = [
  frame(new Uint8Array(1), { opcode: OPCODE.text, reserved: 4 }),
  frame(new Uint8Array(1), { opcode: 3 }),
  frame(Uint8Array.of(0xff), { opcode: OPCODE.text }),
];
const PIECE_MS = 100;
/** A client that gets 429 tries again after this time. */
const RETRY_MS = 100;
const PROBE_MS = 30;
const LONG_TEXT = "Бүгін күн жылы болады деп айтты әкем маған таңертең. ".repeat(60);

for (const front of ATTACKED_FRONTS) {
  describe(`speaking sockets on ${front.name}`, { concurrency: 1 }, () => {
    let service: AttackedService;

    before(async () => {
      service = await AttackedService.start(front, {
        ...(await lightModels()),
        ...{ SERVE: "synthesis", DATA_DIR: await temporaryFolder(), DRAIN_S: "1" },
      });
    });
    after(async () => {
      if (service.isAlive) await service.stopSound();
    });

    for (const wire of WIRES) describeAttacks(wire, () => service);
  });
}

/** Describes the attacks on a protocol of a service. */
function describeAttacks(wire: Wire, started: () => AttackedService): void {
  describe(`${wire.path} attacked`, { concurrency: 1 }, () => {
    let service: AttackedService;
    let attacker: { readonly id: string; readonly key: string };

    before(async () => {
      service = started();
      attacker = await service.newCustomer();
    });
    after(() => service.assertSound());

    const open = () => WebSocketClient.open({ port: service.port, path: wire.path, key: attacker.key });

    async function attack(unit: Buffer, units: number): Promise<CloseFrame | null> {
      let client = await open();
      await eventually("a client that has flooded is let in again", async () => {
        if (client.status !== 429) return true;
        client.connection.destroy();
        await pace(RETRY_MS);
        client = await open();
        return false;
      });
      assert.equal(client.status, 101);
      const sent = client.write(repeated(unit, units));
      const closeFrame = await client.ended();
      await sent;
      return closeFrame;
    }

    test("every kind of flood is closed with a reason, while another customer's speech continues and is charged", async () => {
      const other = await service.newCustomer();
      const said = "Сәлеметсіз бе! Оған ешкім кедергі жасамайды.";
      const probe = new HealthProbe(service.port, { paceMs: PROBE_MS });
      let isOver = false;
      let answers = 0;
      const bystander = (async () => {
        while (!isOver) {
          await spoken(service.url, other.key, wire, said);
          answers++;
        }
      })();
      for (const { name, unit, reasons = MANY } of wire.floods) {
        const closeFrame = await attack(unit, UNITS);
        assert.equal(closeFrame?.code, 4400, name);
        assert.ok(reasons.includes(closeFrame.reason), `${name}: ${closeFrame.reason}`);
      }
      for (const { name, unit, reasons = MANY } of wire.garbage) {
        const closeFrame = await attack(unit, 12);
        assert.equal(closeFrame?.code, 4400, name);
        assert.ok(reasons.includes(closeFrame.reason), `${name}: ${closeFrame.reason}`);
      }
      await eventually("an answer", () => answers > 0);
      isOver = true;
      await bystander;
      const { failures, count } = await probe.stop();
      assert.equal(failures, 0, `${failures} of ${count} times /health failed`);
      await service.untilIdle();
      assert.equal(await service.chargedTo(other.id), answers * synthesisCredits(countCodePoints(said)));
    });

    test("invalid frames, and clients that leave in mid-word, leave nothing running", async () => {
      for (const bytes of BROKEN_FRAMES) {
        const client = await open();
        await client.untilMessage(wire.ready);
        await client.write(Buffer.concat([wire.speak(LONG_TEXT), text(wire.flush)]));
        await client.write(bytes);
        await client.connection.until(() => client.closeFrame !== null || client.connection.isClosed);
        client.connection.destroy();
      }
      for (let nth = 0; nth < 4; nth++) {
        const client = await open();
        await client.untilMessage(wire.ready);
        await client.write(
          Buffer.concat([wire.speak(LONG_TEXT), text(nth % 2 === 0 ? wire.flush : wire.clear)]),
        );
        client.connection.destroy();
      }
      await service.untilIdle();
      assert.equal(await service.healthStatus(), 200);
      assert.deepEqual(await service.brokenRules(), []);
    });

    test("a reader that stalls pays only for what it was sent", async () => {
      const customer = await service.newCustomer();
      const client = await WebSocketClient.open({ port: service.port, path: wire.path, key: customer.key });
      await client.untilMessage(wire.ready);
      client.connection.socket.pause();
      // Silence is cheap to synthesize: each text gives two minutes, 5.8 MB.
      const still = `Сәлем. ${"[pause 10s] ".repeat(12)}Сәлем. `;
      await client.write(Buffer.concat([wire.speak(still.repeat(4)), text(wire.flush)]));
      await eventually(
        "some of it is synthesized",
        async () => (await service.chargedOrHeld(customer.id)) > 0,
      );
      client.connection.destroy();
      await service.untilIdle();
      const charged = await service.chargedTo(customer.id);
      assert.ok(charged < synthesisCredits(countCodePoints(still.repeat(4))), String(charged));
    });
  });
}

/** Speaks a text in pieces, at the pace of a language model that writes it. Returns the number of bytes of audio. */
async function spoken(url: string, key: string, wire: Wire, said: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}${wire.path}`, { headers });
  let bytes = 0;
  let isClosing = false;
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length;
    else if (JSON.parse(String(data)).type === wire.flushed && !isClosing) {
      isClosing = true;
      socket.send(wire.close);
    }
  });
  await once(socket, "open");
  for (const piece of said.match(/\s*\S+/gu)!) {
    socket.send(wire.said(piece));
    await pace(PIECE_MS);
  }
  socket.send(wire.flush);
  const [code] = (await once(socket, "close")) as [number];
  assert.equal(code, 1000);
  assert.ok(bytes > 48_000, `${bytes} bytes`);
  return bytes;
}
