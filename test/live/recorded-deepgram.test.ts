import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import type { LiveSink } from "../../core/ports/conversations.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { eventually } from "../support/eventually.js";

const WORDS = [
  { word: "сәлем", start: 0.4, end: 0.8, confidence: 0.9 },
  { word: "әлем", start: 0.9, end: 1.3, confidence: 0.8 },
];
/** Two seconds of silence from a telephone. */
const AUDIO = Buffer.alloc(16_000, 0xff);

for (const front of FRONTS) {
  describe(`Deepgram's messages on ${front} equal the recorded ones, member by member`, {
    concurrency: 1,
  }, () => {
    let running: RunningTransport;
    let sink: LiveSink | null = null;
    /** The calls that the session has received so far. */
    let heard: string[] = [];

    before(async () => {
      running = await startTransport(front);
      running.conversations.live = (_caller, _options, given) => {
        sink = given;
        heard = [];
        return {
          audio: (bytes) => void heard.push(`audio ${bytes.length}`),
          finalize: () => void heard.push("finalize"),
          close() {
            given.send({ type: "done", audio_seconds: 2, credits_charged: 12 });
            given.close(1000, "done");
          },
          ...{ keepalive() {}, badMessage() {}, disconnected() {}, goingAway() {}, unauthorized() {} },
        };
      };
    });
    after(() => running.stop());

    async function opened(pathAndQuery: string) {
      const socket = new WebSocket(`ws://127.0.0.1:${running.port}${pathAndQuery}`, {
        headers: { authorization: `Token ${GOOD_KEY}` },
      });
      const lines: string[] = [];
      socket.on("message", (data: Buffer, isBinary) => {
        lines.push(isBinary ? JSON.stringify({ audioBytes: data.length }) : String(data));
      });
      const closed = once(socket, "close");
      await once(socket, "open");
      return { socket, lines, closed };
    }

    async function assertRecorded(name: string, lines: readonly string[]): Promise<void> {
      const recorded = await readFile(`test/fixtures/deepgram/${name}.jsonl`, "utf8");
      assert.equal(withoutIds(lines), recorded);
    }

    function report(): void {
      const model = "svc-kk-ru-v2";
      const ids = { session_id: "ses_1", request_id: "req_1" };
      sink!.send({ type: "ready", ...ids, model, sample_rate: 16_000, eou_ms: 200 });
      const start = 0.4;
      sink!.send({ type: "partial", utterance: 0, text: "сәлем", start, end: 0.8, stable: 5 });
      sink!.send({ type: "final", utterance: 0, text: "сәлем әлем", start, end: 1.3, words: WORDS });
    }

    test("live transcription", async () => {
      const options = "encoding=mulaw&interim_results=true&vad_events=true&utterance_end_ms=1000";
      const { socket, lines, closed } = await opened(`/v1/listen?${options}`);
      report();
      socket.send(AUDIO);
      socket.send(AUDIO);
      socket.send('{"type":"Finalize"}');
      await eventually("finalized", () => heard.includes("finalize"));
      const words = [{ word: "иә", start: 2.5, end: 2.8, confidence: 0.7 }];
      const final = { type: "final", utterance: 1, text: "иә", start: 2.5, end: 2.8, words } as const;
      sink!.send({ ...final, from_finalize: true });
      sink!.finalized!();
      sink!.send({ type: "error", code: "out_of_credits", detail: "out of credits", retryable: false });
      socket.send('{"type":"CloseStream"}');
      await closed;
      await assertRecorded("listen", lines);
    });

    test("turns of a conversation", async () => {
      const { socket, lines, closed } = await opened("/v2/listen?encoding=mulaw&eager_eot_threshold=0.4");
      report();
      socket.send(AUDIO);
      await eventually("the end of the turn", () => lines.at(-1)?.includes("EndOfTurn") === true);
      socket.send('{"type":"Configure","thresholds":{}}');
      await eventually("an answer", () => lines.at(-1)?.includes("ConfigureFailure") === true);
      sink!.send({ type: "error", code: "out_of_credits", detail: "out of credits", retryable: false });
      socket.send('{"type":"CloseStream"}');
      await closed;
      await assertRecorded("turns", lines);
    });

    test("speech of text in pieces", async () => {
      const { socket, lines, closed } = await opened("/v1/speak?model=aigul&encoding=mulaw");
      const has = (type: string) => () => lines.some((line) => line.includes(`"type":"${type}"`));
      socket.send('{"type":"Speak"}');
      socket.send('{"type":"Speak","text":"Сәлем."}');
      socket.send('{"type":"Flush"}');
      await eventually("flushed", has("Flushed"));
      socket.send('{"type":"Clear"}');
      await eventually("cleared", has("Cleared"));
      socket.send('{"type":"Close"}');
      await closed;
      await assertRecorded("speak", joinedAudio(lines));
    });
  });
}

/** Replaces what differs between runs: IDs, the time, and the hash of the audio. */
function withoutIds(lines: readonly string[]): string {
  return lines
    .map((line) => `${line}\n`)
    .join("")
    .replace(/\breq_[0-9a-z]+/g, "req_0")
    .replace(/"created":"[^"]+"/g, '"created":"2026-01-01T00:00:00.000Z"');
}

/** Joins consecutive audio to one line, because its chunks depend on timing. */
function joinedAudio(lines: readonly string[]): readonly string[] {
  const joined: string[] = [];
  let bytes = 0;
  for (const line of [...lines, ""]) {
    const { audioBytes = 0 } = line === "" ? {} : (JSON.parse(line) as { readonly audioBytes?: number });
    bytes += audioBytes;
    if (audioBytes > 0) continue;
    if (bytes > 0) joined.push(JSON.stringify({ audioBytes: bytes }));
    bytes = 0;
    if (line !== "") joined.push(line);
  }
  return joined;
}
