import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Registry } from "prom-client";
import { asyncApiDocument } from "../../core/protocol/asyncapi.js";
import { openApiDocument } from "../../core/protocol/openapi.js";
import { COMMANDS } from "../../src/cli/main.js";
import { SETTINGS } from "../../src/settings/settings.js";
import { everyMetric } from "../docs/exposed-metrics.js";
import { compareInterfaces } from "./interface-difference.js";
import {
  commandShapes,
  metricShapes,
  type RegisteredMetric,
  type Shape,
  settingShapes,
  withoutTexts,
} from "./interface-shape.js";

/**
 * The documents, settings, metrics and commands of commit 4e650c9 (2026-11-25), in the shapes of
 * `interface-shape.ts`.
 */
const BASE = fileURLToPath(new URL("../../../test/fixtures/interface/4e650c9.json", import.meta.url));
// Other systems have fewer process metrics.
const skip = process.platform !== "linux" && "the base was taken on Linux";

test("everything that clients and operators used at 4e650c9 still exists in the same shape", {
  skip,
}, async (t) => {
  const { broken } = compareInterfaces(JSON.parse(readFileSync(BASE, "utf8")), await currentInterface(t));
  assert.deepEqual(broken, [], "breaks clients or operators");
});

async function currentInterface(t: { readonly mock: typeof import("node:test").mock }): Promise<Shape> {
  // The registry is private to Metrics.
  const registered = t.mock.method(Registry.prototype, "registerMetric").mock;
  everyMetric();
  const metrics = registered.calls.map((call) => call.arguments[0] as unknown as RegisteredMetric);
  registered.restore();
  return {
    openapi: withoutTexts(plain(openApiDocument())),
    asyncapi: withoutTexts(plain(asyncApiDocument())),
    settings: settingShapes(SETTINGS),
    metrics: await metricShapes(metrics),
    commands: commandShapes(Object.assign({}, ...Object.values(COMMANDS))),
  };
}

/** Converts a document as JSON does, without undefined members. */
function plain(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document));
}

function messageOf(type: string) {
  return { type: "object", properties: { type: { const: type }, id: { type: "string" } } };
}

/** A small interface with every kind of element. */
const PLANTED_BASE = {
  openapi: {
    paths: {
      "/v1/tts": {
        post: {
          parameters: [
            { name: "frames", in: "query", required: false, schema: { type: "string" } },
            { name: "channels", in: "query", required: false, schema: { type: "integer", maximum: 4 } },
          ],
          responses: { "200": {}, "503": {} },
        },
      },
    },
    components: {
      schemas: {
        Request: {
          type: "object",
          properties: {
            text: { type: "string", maxLength: 100 },
            voice: { type: "string", enum: ["aigul", "timur"], default: "aigul" },
            type: { anyOf: [{ type: "string" }, { type: "null" }] },
          },
          required: ["text"],
        },
        Message: { oneOf: [messageOf("finalize"), messageOf("close")] },
      },
    },
  },
  settings: { PORT: { default: 8080, numbers: { lowest: 0, highest: 65_535 }, texts: ["0", "1"] } },
  metrics: { errors_total: { type: "counter", labels: ["code"] } },
  commands: { speak: { actions: ["list"], options: { json: { type: "boolean" } } } },
};

type Planted = typeof PLANTED_BASE;
type Loose = Record<string, unknown>;

const planted = (change: (copy: Planted) => void) => {
  const copy = structuredClone(PLANTED_BASE);
  change(copy);
  return compareInterfaces(PLANTED_BASE, copy as Shape);
};
const fieldsOf = (copy: Planted) => copy.openapi.components.schemas.Request;
const setChannels = (copy: Planted, maximum: number) => {
  copy.openapi.paths["/v1/tts"].post.parameters[1]!.schema = { type: "integer", maximum };
};
const SCHEMA = "openapi › components › schemas › Request";
const POST = "openapi › paths › /v1/tts › post";

const BREAKS: readonly (readonly [name: string, change: (copy: Planted) => unknown, line: string])[] = [
  [
    "a removed path",
    (copy) => delete (copy.openapi.paths as Loose)["/v1/tts"],
    "removed: openapi › paths › /v1/tts",
  ],
  [
    "a removed status",
    (copy) => delete (copy.openapi.paths["/v1/tts"].post.responses as Loose)["503"],
    `removed: ${POST} › responses › 503`,
  ],
  [
    "a changed type",
    (copy) => Object.assign(fieldsOf(copy).properties.text, { type: "integer" }),
    `changed: ${SCHEMA} › properties › text › type: "string" → "integer"`,
  ],
  [
    "a removed alternative",
    (copy) => fieldsOf(copy).properties.type.anyOf.pop(),
    `removed: ${SCHEMA} › properties › type › anyOf › null`,
  ],
  [
    "a removed message of a union",
    (copy) => copy.openapi.components.schemas.Message.oneOf.pop(),
    "removed: openapi › components › schemas › Message › oneOf › close",
  ],
  [
    "a removed field of a message in a union",
    (copy) => delete (copy.openapi.components.schemas.Message.oneOf[1]!.properties as Loose)["id"],
    "removed: openapi › components › schemas › Message › oneOf › close › properties › id",
  ],
  [
    "a removed value of an enum",
    (copy) => fieldsOf(copy).properties.voice.enum.pop(),
    `removed: ${SCHEMA} › properties › voice › enum › "timur"`,
  ],
  [
    "a field that is required now",
    (copy) => fieldsOf(copy).required.push("voice"),
    `required now: ${SCHEMA} › required › "voice"`,
  ],
  [
    "a new parameter that is required",
    (copy) =>
      copy.openapi.paths["/v1/tts"].post.parameters.push({
        ...{ name: "nfe", in: "query", required: true, schema: { type: "integer" } },
      }),
    `required now: ${POST} › parameters › query nfe`,
  ],
  [
    "a new bound of a value",
    (copy) => Object.assign(fieldsOf(copy).properties.voice, { maxLength: 10 }),
    `required now: ${SCHEMA} › properties › voice › maxLength`,
  ],
  [
    "a lower maximum of a parameter",
    (copy) => setChannels(copy, 2),
    `changed: ${POST} › parameters › query channels › schema › maximum: 4 → 2`,
  ],
  [
    "a changed default",
    (copy) => Object.assign(fieldsOf(copy).properties.voice, { default: "timur" }),
    `changed: ${SCHEMA} › properties › voice › default: "aigul" → "timur"`,
  ],
  [
    "another bound of a setting",
    (copy) => Object.assign(copy.settings.PORT.numbers, { lowest: 1 }),
    "changed: settings › PORT › numbers › lowest: 0 → 1",
  ],
  [
    "a removed label",
    (copy) => copy.metrics.errors_total.labels.pop(),
    'removed: metrics › errors_total › labels › "code"',
  ],
  [
    "a removed flag",
    (copy) => delete (copy.commands.speak.options as Loose)["json"],
    "removed: commands › speak › options › json",
  ],
  [
    "a removed action",
    (copy) => copy.commands.speak.actions.pop(),
    'removed: commands › speak › actions › "list"',
  ],
];

for (const [name, change, line] of BREAKS) {
  test(`a comparison reports only ${name}`, () => {
    assert.deepEqual(planted(change), { broken: [line], added: [] });
  });
}

test("additions are compatible and listed once", () => {
  const { broken, added } = planted((copy) => {
    fieldsOf(copy).properties.voice.enum.push("saule");
    Object.assign(fieldsOf(copy).properties, { format: { type: "string", maxLength: 5 } });
    Object.assign(copy.commands.speak.options, { format: { type: "string" } });
    setChannels(copy, 8);
    Object.assign(copy.metrics, { new_total: { type: "counter", labels: ["kind"] } });
  });
  assert.deepEqual(broken, []);
  assert.deepEqual(added, [
    `${SCHEMA} › properties › voice › enum › "saule"`,
    `${SCHEMA} › properties › format`,
    "metrics › new_total",
    "commands › speak › options › format",
  ]);
});

test("order and descriptions do not matter", () => {
  const { broken, added } = planted((copy) => {
    fieldsOf(copy).properties.voice.enum.reverse();
    copy.metrics = JSON.parse(JSON.stringify(copy.metrics));
  });
  assert.deepEqual({ broken, added }, { broken: [], added: [] });
  assert.deepEqual(
    withoutTexts({
      description: "a text",
      properties: { title: { type: "string", description: "a text", examples: ["one"] } },
    }),
    { properties: { title: { type: "string" } } },
  );
});
