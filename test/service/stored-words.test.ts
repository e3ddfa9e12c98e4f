import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  Caller,
  FileWishes,
  LiveWishes,
  SpeakWishes,
  SpeechWishes,
} from "../../core/ports/conversations.js";
import { parseSynthesisRequest } from "../../core/protocol/synthesis-request.js";
import { parseTtsLiveQuery } from "../../core/protocol/tts-live-query.js";
import { withStoredWords } from "../../src/service/stored-words.js";
import { FakeConversations } from "../http/fake-conversations.js";
import { TWO_OF_EACH } from "../support/catalog.js";

const hot = (text: string) => ({ text, characterScore: 1 });
const VOCABULARY = {
  hotWords: [hot("сәлем"), hot("қала")],
  pronunciations: [{ word: "Kaspi", spoken: "каспи" }],
};
const PLAIN: Caller = {
  requestId: "req_1",
  identity: { keyId: "key_1", organizationId: "org_1", tier: "paid" },
  endpoint: "/v1/tts",
};
const STORED: Caller = { ...PLAIN, vocabulary: VOCABULARY };
const LIVE = { endOfUtteranceMs: 200, partials: true, words: false };
const SINK = { send: () => {}, close: () => {} };
const SPEAK_SINK = { ...SINK, sound: () => {}, ready: async () => {} };

/** Conversations that record what they are asked for. */
function recorded() {
  const fakes = new FakeConversations();
  fakes.catalog = TWO_OF_EACH;
  const spoken: (SpeechWishes | SpeakWishes)[] = [];
  const { synthesis, speaking } = fakes;
  const conversations = withStoredWords({
    ...{ catalog: fakes.catalog, requireCredit: fakes.requireCredit, expectFile: fakes.expectFile },
    live: (...given) => fakes.live(...given),
    transcription: (caller, path, wishes) => {
      fakes.wishes = wishes;
      throw new Error(`nothing is transcribed for ${caller.requestId}: ${path}`);
    },
    synthesis: (caller, request, delivery) => {
      spoken.push(request);
      return synthesis(caller, request, delivery);
    },
    speaking: (caller, wishes, sink) => {
      spoken.push(wishes);
      return speaking(caller, wishes, sink);
    },
  });
  const heardLive = (caller: Caller, wishes: LiveWishes) => {
    conversations.live(caller, wishes, SINK);
    return fakes.options?.hotWords.map(({ text }) => text);
  };
  const heardFile = (caller: Caller, wishes: FileWishes) => {
    assert.throws(() => conversations.transcription(caller, "a.wav", wishes), /nothing is transcribed/);
    return fakes.wishes?.hotWords.map(({ text }) => text);
  };
  return { conversations, heardLive, heardFile, spoken };
}

test("stored hot words of the model's letters follow the request's own", () => {
  const { heardLive, heardFile } = recorded();
  const model = "svc-kk-ru-v2";
  const wishes = { model, hotWords: [hot("әлем")] };
  assert.deepEqual(heardFile(STORED, wishes), ["әлем", "сәлем"]);
  assert.deepEqual(heardLive(STORED, { ...LIVE, ...wishes }), ["әлем", "сәлем"]);
  assert.deepEqual(heardFile(PLAIN, wishes), ["әлем"]);
  assert.deepEqual(heardFile(STORED, { ...wishes, organizationDefaults: false }), ["әлем"]);
  assert.deepEqual(heardLive(STORED, { ...LIVE, ...wishes, organizationDefaults: false }), ["әлем"]);
});

test("a model that takes no hot words gets none of the stored ones", () => {
  const { heardLive, heardFile } = recorded();
  assert.deepEqual(heardFile(STORED, { model: "pieces", hotWords: [] }), []);
  assert.deepEqual(heardLive(STORED, { ...LIVE, model: "pieces", hotWords: [] }), []);
});

test("speech gets stored pronunciations unless its request leaves them out", async () => {
  const { conversations, spoken } = recorded();
  const request = parseSynthesisRequest({ text: "Kaspi" });
  const manner = (query: string) =>
    parseTtsLiveQuery(new URLSearchParams(query), TWO_OF_EACH.speaking).manner;
  await conversations.synthesis(STORED, request, "whole");
  conversations.speaking(STORED, manner(""), SPEAK_SINK).disconnected();
  assert.deepEqual(
    spoken.splice(0).map(({ storedPronunciations }) => storedPronunciations),
    [VOCABULARY.pronunciations, VOCABULARY.pronunciations],
  );
  await conversations.synthesis(PLAIN, request, "whole");
  await conversations.synthesis(
    STORED,
    parseSynthesisRequest({ text: "a", organization_defaults: false }),
    "whole",
  );
  conversations.speaking(STORED, manner("organization_defaults=false"), SPEAK_SINK).disconnected();
  assert.deepEqual(
    spoken.map(({ storedPronunciations }) => storedPronunciations),
    [undefined, undefined, undefined],
  );
});
