// Partials through the sockets that the console, the command line and Deepgram's clients use.
import assert from "node:assert/strict";
import { once } from "node:events";
import { before, test } from "node:test";
import { WebSocket } from "ws";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { runLive } from "../../bench/support/live-client.js";
import { type ShownUtterance, shownUtterances, tailLetters } from "../../bench/support/partial-tails.js";
import { joinedStream, SAMPLE_RATE_HZ, speak, speechOf } from "../../bench/support/spoken-stream.js";
import type { ListenServerMessage } from "../../core/protocol/listen-messages.js";
import { speech } from "../support/audio.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const SENTENCES = [
  "Бүгін күн жылы.",
  "Мен дүкенге барамын.",
  "Алма сатып алдым.",
  "Сағат неше болды?",
  "Ертең қалаға келемін.",
];
const NUMBERS = ["digits_19", "digits_16", "digits_10", "digits_18", "dictate_record", "digits_13"];
const PAUSE_SAMPLES = 0.26 * SAMPLE_RATE_HZ;
/**
 * The character error rate between last partials and their finals. Half of the differences are spaces between
 * words.
 */
const MAX_CHARACTER_ERROR_RATE = 0.1;

let service: SharedService;
/** One stream has a synthetic Kazakh voice, the other a person who speaks Russian numbers. */
const streams: Int16Array[] = [];

before(async () => {
  service = await sharedService();
  const spoken: Int16Array[] = [];
  for (const text of SENTENCES) spoken.push(speechOf(await speak(service, { text })));
  const numbers = NUMBERS.map((name) => speechOf(speech(`asterisk-ru-core/${name}.flac`)));
  for (const recordings of [spoken, numbers]) streams.push(joinedStream(recordings, PAUSE_SAMPLES).pcm);
});

function assertNoTails(shown: readonly ShownUtterance[]): void {
  assert.ok(shown.length >= 5, `${shown.length} utterances`);
  for (const [index, later] of shown.slice(1).entries()) {
    const { final } = shown[index]!;
    assert.equal(tailLetters(later, final), 0, `"${later.lastPartial}" after "${final}"`);
  }
}

test("no partial of /v1/stream begins with the tail of the previous utterance, however it is chunked", async () => {
  for (const [index, pcm] of streams.entries()) {
    const runs = [640, 1_600, [4_800, 333, 17]].map(async (messageSamples) => {
      const { url, key } = service;
      const { received } = await runLive({ url, key, pcm, messageSamples, isPaced: false });
      return shownUtterances(
        received.map(({ message }) => message),
        [],
      );
    });
    const [first, ...others] = await Promise.all(runs);
    assertNoTails(first!);
    for (const other of others) assert.deepEqual(other, first);
    if (index > 0) continue;
    const { characterErrorRate } = errorRates(
      first!.map(({ final, lastPartial }) => ({ reference: final, hypothesis: lastPartial })),
    );
    assert.ok(characterErrorRate <= MAX_CHARACTER_ERROR_RATE, `${characterErrorRate}`);
  }
});

test("no interim result of /v1/listen begins with it either", async () => {
  for (const pcm of streams) {
    const query = "encoding=linear16&sample_rate=16000&interim_results=true&endpointing=200";
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/listen?${query}`, {
      headers: { Authorization: `Token ${service.key}` },
    });
    const shown: ShownUtterance[] = [];
    let lastPartial = "";
    socket.on("message", (bytes) => {
      const message = JSON.parse(String(bytes)) as ListenServerMessage;
      if (message.type !== "Results") return;
      const { transcript } = message.channel.alternatives[0]!;
      if (message.is_final) {
        shown.push({ final: transcript, lastPartial, firstPartialAfter: null });
        lastPartial = "";
      } else lastPartial = transcript;
    });
    await once(socket, "open");
    for (let start = 0; start < pcm.length; start += 1_600) {
      socket.send(Buffer.from(pcm.slice(start, start + 1_600).buffer));
    }
    socket.send(JSON.stringify({ type: "CloseStream" }));
    await once(socket, "close");
    assertNoTails(shown);
  }
});
