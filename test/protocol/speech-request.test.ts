import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSpeechRequest } from "../../core/protocol/speech-request.js";
import { parseSynthesisRequest } from "../../core/protocol/synthesis-request.js";
import { speechForFingerprint } from "../../src/http/once-by-key.js";

test("OpenAI's clients can choose solver steps and room tone, with fewer steps by default", () => {
  const plain = parseSpeechRequest({ input: "Сәлем" });
  assert.deepEqual([plain.synthesis.nfe, plain.synthesis.room_tone], [16, true]);
  const asked = parseSpeechRequest({ input: "Сәлем", nfe: 9, room_tone: false, instructions: "softly" });
  assert.deepEqual([asked.synthesis.nfe, asked.synthesis.room_tone], [9, false]);
  assert.deepEqual(asked.ignored, ["instructions"]);
  assert.equal(parseSynthesisRequest({ text: "Сәлем" }).nfe, 32, "the native paths keep theirs");
});

test("a request with default room tone keeps its fingerprint from before room tone existed", () => {
  const fingerprint = (request: object) =>
    JSON.stringify(speechForFingerprint(parseSynthesisRequest(request)));
  assert.equal(
    fingerprint({ text: "a" }),
    '{"text":"a","model":"svc-kk-v1","voice":null,"speed":1,"nfe":32,"normalize":true,"seed":null}',
  );
  assert.match(fingerprint({ text: "a", room_tone: false }), /,"room_tone":false\}$/);
});
