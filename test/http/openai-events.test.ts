import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { eventually } from "../support/eventually.js";
import { GOOD_KEY } from "./fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "./running-transport.js";

const SEGMENT = { text: "сәлем", startSeconds: 0, endSeconds: 1, words: [] };

for (const front of FRONTS) {
  describe(`OpenAI's events of a transcription on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;

    before(async () => {
      running = await startTransport(front);
    });
    after(() => running.stop());
    beforeEach(() => {
      const { conversations } = running;
      conversations.nextTranscription = "answer";
      conversations.charges.length = 0;
      conversations.stops.length = 0;
      conversations.uploads.length = 0;
    });

    const post = (signal: AbortSignal | null = null) => {
      const form = new FormData();
      form.append("file", new Blob(["audio"]), "a.wav");
      form.append("stream", "true");
      const headers = { authorization: `Bearer ${GOOD_KEY}`, "x-stainless-lang": "js" };
      return fetch(`${running.base}/v1/audio/transcriptions`, {
        method: "POST",
        body: form,
        headers,
        signal,
      });
    };
    /** Waits until the work has its first segment. */
    const segmentKnown = async () => {
      await eventually("the work", () => running.conversations.uploads.length === 1);
      running.conversations.wishes?.onSegments?.([SEGMENT]);
    };

    test("a failure before the first text sets the status and costs nothing", async () => {
      running.conversations.nextTranscription = new ServiceError("WORKER_LOST", "try again");
      const answer = await post();
      assert.equal(answer.status, 503);
      assert.deepEqual(running.conversations.charges, []);
    });

    test("the file is charged before its first text, and a later failure is the last event", async () => {
      running.conversations.nextTranscription = "wait";
      const asked = post();
      await segmentKnown();
      const answer = await asked;
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), "text/event-stream");
      assert.deepEqual(running.conversations.charges, ["charge"]);
      running.conversations.fail(new ServiceError("WORKER_LOST", "try again"));
      const events = (await answer.text()).trimEnd().split("\n\n");
      assert.deepEqual(
        events.map((event) => JSON.parse(event.replace(/^data: /, ""))),
        [
          { type: "transcript.text.delta", delta: "сәлем" },
          {
            type: "error",
            error: { message: "try again", type: "server_error", param: null, code: "worker_lost" },
          },
        ],
      );
      assert.deepEqual(running.conversations.charges, ["charge"], "it is not complete");
    });

    test("a client that leaves after the first text stops the work", async () => {
      running.conversations.nextTranscription = "wait";
      const abort = new AbortController();
      const asked = post(abort.signal);
      await segmentKnown();
      await (await asked).body!.getReader().read();
      abort.abort();
      await eventually("the end", () => running.conversations.stops.length > 0);
      assert.equal(running.conversations.stops[0], "client-left");
    });
  });
}
