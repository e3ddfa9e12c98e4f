import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, errorName } from "../../src/domain/errors.js";
import { Metrics } from "../../src/observe/metrics.js";
import { HTTP_STATUS } from "../../src/protocol/error-status.js";
import { codeSpans, read, repositoryFiles, section, tableRows } from "./markdown.js";

const PAGE = read("docs/operations.md");
/** prom-client's own, of the process. */
const OF_PROCESS = /^(process|nodejs)_/;
const FUNCTIONS = new Set(["histogram_quantile"]);
const ERRORS = new Set(Object.keys(HTTP_STATUS).map((code) => errorName(code as ErrorCode)));

/** Labels by the name of the metric, as the table shows them. */
const SHOWN = new Map(
  tableRows(section(PAGE, "## Metrics"))
    .flatMap(([names = ""]) => codeSpans(names))
    .map((shown) => {
      const [, name = "", labels] = /^(\w+)(?:\{(.*)\})?$/.exec(shown) ?? [];
      return [name, labels?.split(",") ?? []] as const;
    }),
);

/** Names of everything on the operator's port. */
async function exposed(): Promise<ReadonlySet<string>> {
  const metrics = new Metrics({ withProcess: true });
  metrics.observeSpool(() => 0);
  metrics.observeHeldSpeech(() => 0);
  metrics.observeDeviceErrors([], () => 0);
  metrics.observeRuns([], () => []);
  const text = await metrics.text();
  return new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!));
}

test("docs/operations.md lists every metric of ours, and no other", async () => {
  const known = new Set([...(await exposed())].filter((name) => !OF_PROCESS.test(name)));
  const shown = new Set(SHOWN.keys());
  const without = [...known].filter((name) => !shown.has(name));
  assert.deepEqual(without, [], `metrics without a row in its table: ${without.join(", ")}`);
  const stale = [...shown].filter((name) => !known.has(name));
  assert.deepEqual(
    stale,
    [],
    `rows of metrics that src/observe/metrics.ts does not have: ${stale.join(", ")}`,
  );
});

test("every metric and observer of Metrics is told of something", () => {
  const within = read("src/observe/metrics.ts");
  const users = repositoryFiles()
    .filter((path) => /^src\/(?!observe\/).*\.ts$/.test(path))
    .map(read);
  const isTold = (member: string) =>
    new RegExp(`\\bthis\\.${member}\\b`).test(within) ||
    users.some((source) => new RegExp(`\\bmetrics\\.${member}\\b`).test(source));
  const idle = Object.keys(new Metrics({ withProcess: false })).filter((member) => !isTold(member));
  assert.deepEqual(idle, [], `nothing in src uses ${idle.map((member) => `metrics.${member}`).join(", ")}`);
});

test("every metric, label and error code in the alerts exists", async () => {
  const known = await exposed();
  const [, block = ""] = /```promql\n(.*?)```/s.exec(section(PAGE, "## Alerts")) ?? [];
  const alerts = block.replaceAll(/^#.*$/gm, "");
  const used = [...alerts.matchAll(/(?<!["|])\b([a-z]+(?:_[a-z0-9]+)+)\b(?:\{([^}]*)\})?/g)]
    .map(([, name = "", selector = ""]) => ({ name, selector }))
    .filter(({ name }) => !FUNCTIONS.has(name));
  assert.ok(used.length >= 10, `${used.length} metrics in alerts`);
  for (const { name: written, selector } of used) {
    const name = known.has(written) ? written : written.replace(/_(bucket|sum|count)$/, "");
    assert.ok(known.has(name), written);
    for (const [, label = "", value = ""] of selector.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      assert.ok(SHOWN.get(name)?.includes(label), `${name} has no label ${label}`);
      if (label === "code") for (const code of value.split("|")) assert.ok(ERRORS.has(code), code);
    }
  }
});
