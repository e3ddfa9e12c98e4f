import { availableParallelism } from "node:os";
import { relative } from "node:path";
import type { Command } from "../../src/cli/command.js";
import type { Setting } from "../../src/settings/setting.js";

/** JSON without descriptive texts. */
export type Shape = null | boolean | number | string | readonly Shape[] | { readonly [key: string]: Shape };

const TEXTS = new Set(["description", "summary", "title", "example", "examples", "x-service-version"]);
/** The keys of these objects are names of the interface, so `title` is a field in them. */
const MAPS = new Set(["properties", "schemas", "headers", "parameters", "responses", "paths", "messages"]);

/** Removes descriptions, titles and examples from an OpenAPI or AsyncAPI document. */
export function withoutTexts(document: unknown, isMap = false): Shape {
  if (Array.isArray(document)) return document.map((item) => withoutTexts(item));
  if (typeof document !== "object" || document === null) return document as Shape;
  const kept = Object.entries(document).filter(([key]) => isMap || !TEXTS.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutTexts(value, MAPS.has(key) && !isMap)]));
}

/** The members of a prom-client metric that each of our metrics has, in every version. */
export interface RegisteredMetric {
  readonly name: string;
  /** Our own metrics show their labels only together with values. */
  readonly labelNames?: readonly string[];
  get(): Promise<{ readonly type: string; readonly values: readonly { readonly labels: object }[] }>;
}

/** The types and labels of metrics, by name. */
export async function metricShapes(metrics: readonly RegisteredMetric[]): Promise<Shape> {
  const shapes = await Promise.all(
    metrics.map(async (metric) => {
      const { type, values } = await metric.get();
      const labels = metric.labelNames ?? values.flatMap((value) => Object.keys(value.labels));
      const own = new Set(labels.filter((label) => label !== "le"));
      return [metric.name, { type, labels: [...own] }] as const;
    }),
  );
  return Object.fromEntries(shapes.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The flags and actions of commands, by name. */
export function commandShapes(
  commands: Readonly<Record<string, Pick<Command, "usage" | "options" | "actions">>>,
): Shape {
  return Object.fromEntries(
    Object.entries(commands).map(([name, { usage, options, actions = [] }]) => {
      const words = [usage, ...actions.map(([term]) => term)].flatMap((text) => text.split(/[\s|[\]]+/));
      const own = words.filter((word) => /^[a-z][a-z-]*$/.test(word) && word !== name);
      return [name, { actions: [...new Set(own)], options: { ...options } as unknown as Shape }];
    }),
  );
}

/** Texts of every kind that any setting accepts. */
const PROBES = [
  ...[
    "auto",
    "true",
    "false",
    "none",
    "cpu",
    "cuda",
    "webgpu",
    "cuda,cpu",
    "cuda:1",
    "0",
    "1",
    "-1",
    "1.5",
    "x",
  ],
  ...["all", "gateway", "engine", "uws", "node", "synthesis", "synthesis,live", "transcription,live"],
  ...["fatal", "error", "warn", "info", "debug", "trace", "silent", "127.0.0.1", "host.example", "a b"],
  ...[
    "nats://host:4222",
    "tls://host:4222,tls://other:4222",
    "http://host:4318",
    "http://host?query",
    "https://host",
  ],
  ...[
    "postgres://user:password@host:5432/database",
    "mysql://host/database",
    "10.0.0.0/8",
    "10.0.0.0/33",
    "::1/128",
  ],
  ...[
    `sk-svc-${"0a".repeat(24)}`,
    "sk-svc-0",
    "sixteen character",
    "2/5",
    "0/5",
    "1/25000 USD",
    "1/25000 XYZ",
  ],
  ...["a@b.example", "a@b", "a,b"],
];
/** A number with more digits than any setting has. */
const HIGHEST_PROBE = 2 ** 30;

type Probed = Pick<Setting<unknown>, "name" | "schema" | "absent">;

/** The defaults of settings, and the whole numbers and other texts that they accept, by name. */
export function settingShapes(settings: readonly Probed[]): Shape {
  return Object.fromEntries(
    settings.map(({ name, schema, absent }) => {
      const accepts = (text: string) => schema.safeParse(text).success;
      const value: unknown = JSON.parse(JSON.stringify(absent ?? null));
      return [
        name,
        {
          default: (typeof value === "string" && value.startsWith("/")
            ? relative("", value)
            : value) as Shape,
          numbers: numbersOf((number) => accepts(String(number))),
          texts: PROBES.filter(accepts),
        },
      ];
    }),
  );
}

/** The lowest and the highest whole number that is accepted; null if a setting accepts none, or all. */
function numbersOf(accepts: (number: number) => boolean): Shape {
  const start = [0, ...Array.from({ length: 30 }, (_, power) => 2 ** power)].find(accepts);
  if (start === undefined || accepts(HIGHEST_PROBE)) return null;
  const edge = (from: number, to: number): number => {
    // The setting accepts `from` but not `to`.
    if (Math.abs(to - from) === 1) return from;
    const middle = Math.trunc((from + to) / 2);
    return accepts(middle) ? edge(middle, to) : edge(from, middle);
  };
  const highest = edge(start, HIGHEST_PROBE);
  // A machine with more than 64 cores allows more threads.
  return {
    lowest: edge(start, -1),
    highest: highest === availableParallelism() ? Math.min(highest, 64) : highest,
  };
}
