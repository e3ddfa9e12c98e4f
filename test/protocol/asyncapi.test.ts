import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { Ajv } from "ajv";
import { CLOSE } from "../../core/domain/close-codes.js";
import { asyncApiDocument } from "../../core/protocol/asyncapi.js";
import { ENDPOINTS } from "../../core/protocol/endpoints.js";

const OFFICIAL = createRequire(import.meta.url).resolve("@asyncapi/specs/schemas/3.0.0.json");

interface Document {
  readonly channels: Readonly<
    Record<
      string,
      {
        readonly address: string;
        readonly messages: Readonly<Record<string, unknown>>;
        readonly bindings: { readonly ws: { readonly query: { readonly properties: object } } };
        readonly "x-close-codes": readonly { readonly code: number }[];
      }
    >
  >;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
}

const document = JSON.parse(JSON.stringify(asyncApiDocument())) as Document;

test("the live protocol is described by a valid AsyncAPI 3 document", () => {
  // The official schema uses formats such as URIs, which ajv leaves to a separate package.
  // It includes the JSON Schema meta schema, which ajv would register twice.
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, meta: false });
  const validate = ajv.compile(JSON.parse(readFileSync(OFFICIAL, "utf8")));
  assert.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 5)));
  assert.equal(validate({ ...document, channels: { stream: { address: 1 } } }), false);
});

test("every reference resolves", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    (match) => match[1]!,
  );
  assert.ok(references.length > 20);
  for (const reference of references) {
    let found: unknown = document;
    for (const part of reference.split("/")) found = (found as Record<string, unknown> | undefined)?.[part];
    assert.ok(found !== undefined, reference);
  }
});

test("channels have the paths, parameters and close codes of the interface", () => {
  const live = ENDPOINTS.filter(({ status }) => status === 101);
  const channels = Object.values(document.channels);
  assert.deepEqual(
    channels.map(({ address }) => address),
    live.map(({ path }) => path),
  );
  for (const [nth, { query }] of live.entries()) {
    const shown = Object.keys(channels[nth]!.bindings.ws.query.properties);
    assert.deepEqual(shown, Object.keys(query!.schema.shape));
    assert.deepEqual(
      channels[nth]!["x-close-codes"].map(({ code }) => code),
      Object.values(CLOSE),
    );
  }
});

test("every message is sent or received exactly once", () => {
  const used = Object.values(document.operations).flatMap(({ messages }) => messages.map(({ $ref }) => $ref));
  const known = Object.entries(document.channels).flatMap(([id, { messages }]) =>
    Object.keys(messages).map((name) => `#/channels/${id}/messages/${name}`),
  );
  assert.deepEqual(used.toSorted(), known.toSorted());
  assert.ok(known.includes("#/channels/stream/messages/final"));
  assert.ok(known.includes("#/channels/listen/messages/CloseStream"));
});
