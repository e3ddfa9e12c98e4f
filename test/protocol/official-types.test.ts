// Messages of other vendors' protocols. The compiler compares them with the types of the vendors' packages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Deepgram } from "@deepgram/sdk";
import type { OpenAI } from "openai-6";
import type { z } from "zod";
import { LISTEN_SERVER_MESSAGE } from "../../core/protocol/listen-messages.js";
import { REALTIME_SERVER_EVENT } from "../../core/protocol/realtime-events.js";
import { SPEAK_SERVER_MESSAGE } from "../../core/protocol/speak-messages.js";
import { TURNS_SERVER_MESSAGE } from "../../core/protocol/turns-messages.js";

/** Optional members are absent, never undefined. */
type Exact<Message> = Message extends unknown
  ? { [Key in keyof Message]: Exclude<Message[Key], undefined> }
  : never;
type Except<Message, Type extends string> = Exclude<Message, { readonly type: Type }>;

/** The package has no type for errors. */
type ListenMessage = Except<z.output<typeof LISTEN_SERVER_MESSAGE>, "Error">;
type SpeakMessage = Except<z.output<typeof SPEAK_SERVER_MESSAGE>, "Error">;
type TurnsMessage = z.output<typeof TURNS_SERVER_MESSAGE>;
/** Sessions are open objects here; the beta's events are in an older package. */
type RealtimeEvent = Except<
  z.output<typeof REALTIME_SERVER_EVENT>,
  | "session.created"
  | "session.updated"
  | "transcription_session.created"
  | "transcription_session.updated"
  // As OpenAI's service, ours sends `transcript: null`, which the types do not have.
  | "conversation.item.added"
  | "conversation.item.done"
  | "conversation.item.created"
>;

type OfficialListen =
  | Deepgram.listen.ListenV1Results
  | Deepgram.listen.ListenV1Metadata
  | Deepgram.listen.ListenV1SpeechStarted
  | Deepgram.listen.ListenV1UtteranceEnd;
type OfficialSpeak =
  | Deepgram.speak.SpeakV1Metadata
  | Deepgram.speak.SpeakV1Flushed
  | Deepgram.speak.SpeakV1Cleared
  | Deepgram.speak.SpeakV1Warning;
type OfficialTurns =
  | Deepgram.listen.ListenV2Connected
  | Deepgram.listen.ListenV2TurnInfo
  | Deepgram.listen.ListenV2ConfigureFailure
  | Deepgram.listen.ListenV2FatalError;

/** Does not compile if a message lacks a member of the package's type, or has another type of it. */
const OFFICIAL = {
  listen: (message: ListenMessage): OfficialListen => message,
  speak: (message: SpeakMessage): OfficialSpeak => message,
  turns: (message: TurnsMessage): OfficialTurns => message,
  realtime: (event: Exact<RealtimeEvent>): OpenAI.Realtime.RealtimeServerEvent => event,
};

const RECORDED = [
  ["deepgram/listen", LISTEN_SERVER_MESSAGE, OFFICIAL.listen],
  ["deepgram/speak", SPEAK_SERVER_MESSAGE, OFFICIAL.speak],
  ["deepgram/turns", TURNS_SERVER_MESSAGE, OFFICIAL.turns],
  ["realtime/general", REALTIME_SERVER_EVENT, OFFICIAL.realtime],
  ["realtime/beta", REALTIME_SERVER_EVENT, OFFICIAL.realtime],
] as const;

for (const [name, schema, asOfficial] of RECORDED) {
  test(`the recorded messages of ${name} have all members of their schema, and no others`, () => {
    const lines = readFileSync(`test/fixtures/${name}.jsonl`, "utf8").trim().split("\n");
    const messages = lines
      .map((line) => JSON.parse(line))
      .filter(({ audioBytes }) => audioBytes === undefined);
    assert.ok(messages.length > 3);
    for (const message of messages) {
      assert.deepEqual(schema.parse(message), message);
      assert.equal(asOfficial(message), message);
    }
  });
}
