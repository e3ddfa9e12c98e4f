// Hostile clients of a speaking socket: floods, invalid frames, readers that stall, and clients that leave.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { synthesisCredits } from "../support/prices.js";
import { ATTACKED_FRONTS, AttackedService } from "./support/attacked-service.js";
import { HealthProbe } from "./support/health-probe.js";
import { type CloseFrame, frame, OPCODE, repeated, WebSocketClient } from "./support/web-socket-client.js";

const PATH = "/v1/speak";
const text = (content: string) => frame(content, { opcode: OPCODE.text });
const speak = (content: string) => text(JSON.stringify({ type: "Speak", text: content }));
const FLUSH = text('{"type":"Flush"}');
const CLEAR = text('{"type":"Clear"}');
const UNITS = 20_000;

const MANY = ["too_many_messages"];
const FLOODS: readonly {
  readonly name: string;
  readonly unit: Buffer;
  readonly reasons?: readonly string[];
}[] = [
  { name: "letters", unit: speak("а") },
  { name: "sentences of emoji", unit: speak("😀. ") },
  { name: "flushes", unit: FLUSH },
  { name: "clears", unit: CLEAR },
  { name: "sentences that are cleared", unit: Buffer.concat([speak("Сәлем. "), CLEAR]) },
  { name: "marks without a sentence", unit: speak(". ! ? … ".repeat(20)), reasons: [...MANY, "too_fast"] },
  { name: "keepalives", unit: text('{"type":"KeepAlive"}') },
  { name: "pings", unit: frame(new Uint8Array(0), { opcode: OPCODE.ping }) },
];
/** Possible outcomes; in any of them the socket closes without a flood. */
const GARBAGE: readonly {
  readonly name: string;
  readonly unit: Buffer;
  readonly reasons: readonly string[];
}[] = [
  { name: "no JSON", unit: text("{"), reasons: ["too_many_messages"] },
  { name: "no text", unit: text('{"type":"Speak"}'), reasons: ["too_many_messages"] },
  { name: "long text", unit: speak("а".repeat(5_001)), reasons: ["too_many_messages"] },
  {
    name: "sound",
    unit: frame(new Uint8Array(320), { opcode: OPCODE.binary }),
    reasons: ["too_many_messages"],
  },
  {
    name: "more text than may wait",
    unit: speak("сөз ".repeat(1_200)),
    reasons: ["too_fast", "too_many_messages"],
  },
];
const BROKEN_FRAMES: readonly Buffer[] = [
  frame(new Uint8Array(1), { opcode: OPCODE.text, reserved: 4 }),
  frame(new Uint8Array(1), { opcode: 3 }),
  frame(Uint8Array.of(0xff), { opcode: OPCODE.text }),
];
const LONG_TEXT = "Бүгін күн жылы болады деп айтты әкем маған таңертең. ".repeat(60);

for (const front of ATTACKED_FRONTS) {
  describe(`speaking sockets attacked on ${front.name}`, { concurrency: 1 }, () => {
    let service: AttackedService;
    let attacker: { readonly id: string; readonly key: string };

    before(async () => {
      service = await AttackedService.start(front, {
        ...(await lightModels()),
        ...{ SERVE: "synthesis", DATA_DIR: await temporaryFolder(), DRAIN_S: "1" },
      });
      attacker = await service.newCustomer();
    });
    after(async () => {
      if (service.isAlive) await service.stopSound();
    });

    const open = () => WebSocketClient.open({ port: service.port, path: PATH, key: attacker.key });

    async function attack(unit: Buffer, units: number): Promise<CloseFrame | null> {
      let client = await open();
      await eventually("a client that has flooded is let in again", async () => {
        if (client.status !== 429) return true;
        client.connection.destroy();
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
      const said = "Сәлеметсіз бе! Бұл басқа адам. Оған ешкім кедергі жасамайды.";
      const probe = new HealthProbe(service.port);
      let isOver = false;
      let answers = 0;
      const bystander = (async () => {
        while (!isOver) {
          await spoken(service.url, other.key, said);
          answers++;
        }
      })();
      for (const { name, unit, reasons = MANY } of FLOODS) {
        const closeFrame = await attack(unit, UNITS);
        assert.equal(closeFrame?.code, 4400, name);
        assert.ok(reasons.includes(closeFrame.reason), `${name}: ${closeFrame.reason}`);
      }
      for (const { name, unit, reasons } of GARBAGE) {
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
        await client.untilMessage("Metadata");
        await client.write(Buffer.concat([speak(LONG_TEXT), FLUSH]));
        await client.write(bytes);
        await client.connection.until(() => client.closeFrame !== null || client.connection.isClosed);
        client.connection.destroy();
      }
      for (let nth = 0; nth < 4; nth++) {
        const client = await open();
        await client.untilMessage("Metadata");
        await client.write(Buffer.concat([speak(LONG_TEXT), ...(nth % 2 === 0 ? [FLUSH] : [CLEAR])]));
        client.connection.destroy();
      }
      await service.untilIdle();
      assert.equal(await service.healthStatus(), 200);
      assert.deepEqual(await service.brokenRules(), []);
    });

    test("a reader that stalls pays only for what it was sent", async () => {
      const customer = await service.newCustomer();
      const client = await WebSocketClient.open({ port: service.port, path: PATH, key: customer.key });
      await client.untilMessage("Metadata");
      client.connection.socket.pause();
      // Silence is cheap to synthesize: two minutes per text, 5.8 MB.
      const still = `Сәлем. ${"[pause 10s] ".repeat(12)}Сәлем. `;
      await client.write(Buffer.concat([speak(still.repeat(4)), FLUSH]));
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

/** Speaks a text in pieces, and returns the bytes of its audio. */
async function spoken(url: string, key: string, said: string): Promise<number> {
  const headers = { authorization: `Token ${key}` };
  const socket = new WebSocket(`${url.replace("http", "ws")}${PATH}`, { headers });
  let bytes = 0;
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length;
    else if (JSON.parse(String(data)).type === "Flushed") socket.send('{"type":"Close"}');
  });
  await once(socket, "open");
  for (const piece of said.match(/\s*\S+/gu)!) socket.send(JSON.stringify({ type: "Speak", text: piece }));
  socket.send('{"type":"Flush"}');
  const [code] = (await once(socket, "close")) as [number];
  assert.equal(code, 1000);
  assert.ok(bytes > 48_000, `${bytes} bytes`);
  return bytes;
}
