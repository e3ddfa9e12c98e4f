import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../../core/observe/metrics.js";
import { exposedMetrics, shownLabels } from "./exposed-metrics.js";
import { read, repositoryFiles } from "./markdown.js";

/** Process metrics of prom-client. */
const OF_PROCESS = /^(process|nodejs)_/;

test("docs/monitoring.md lists exactly our metrics", async () => {
  const known = new Set([...(await exposedMetrics())].filter((name) => !OF_PROCESS.test(name)));
  const shown = new Set(shownLabels().keys());
  const without = [...known].filter((name) => !shown.has(name));
  assert.deepEqual(without, [], `metrics without a row in its table: ${without.join(", ")}`);
  const stale = [...shown].filter((name) => !known.has(name));
  assert.deepEqual(stale, [], `rows of metrics that core/observe does not have: ${stale.join(", ")}`);
});

test("every metric and observer of Metrics records something", () => {
  const within = read("core/observe/metrics.ts");
  const users = repositoryFiles()
    .filter((path) => /^src\/(?!observe\/).*\.ts$/.test(path))
    .map(read);
  const isTold = (member: string) =>
    new RegExp(`\\bthis\\.${member}\\b`).test(within) ||
    users.some((source) => new RegExp(`\\bmetrics\\.${member}\\b`).test(source));
  const metrics = new Metrics({ withProcess: false });
  const members = [
    ...Object.keys(metrics),
    ...Object.keys(metrics.fleet).map((member) => `fleet\\.${member}`),
  ];
  const idle = members.filter((member) => !isTold(member));
  assert.deepEqual(idle, [], `nothing in src uses ${idle.map((member) => `metrics.${member}`).join(", ")}`);
});
