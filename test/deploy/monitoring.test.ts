import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import { type ErrorCode, errorName } from "../../core/domain/errors.js";
import { HTTP_STATUS } from "../../core/protocol/error-status.js";
import { exposedMetrics, shownLabels } from "../docs/exposed-metrics.js";
import { ROOT, read } from "../docs/markdown.js";
import { documentsOf } from "./kustomize.js";

/** Test cases for `promtool test rules`. */
const CASES = "test/deploy/alerts.promtool.yaml";
const ERRORS = new Set(Object.keys(HTTP_STATUS).map((code) => errorName(code as ErrorCode)));
/** Labels that Prometheus adds to every target. */
const OF_PROMETHEUS = new Set(["up"]);
const OF_TARGETS = new Set(["job", "instance", "le", "__name__"]);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Returns the metrics of an expression with the labels it compares, and the labels it groups by. */
function asked(expr: string): {
  readonly metrics: Map<string, Map<string, string>>;
  readonly groups: string[];
} {
  const metrics = new Map<string, Map<string, string>>();
  const groups: string[] = [];
  const cursor = parser.parse(expr).cursor();
  do {
    const { name, node } = cursor;
    assert.ok(!node.type.isError, `no PromQL at ${expr.slice(cursor.from)} in ${expr}`);
    const text = (from: number, to: number) => expr.slice(from, to);
    if (name === "VectorSelector") {
      const identifier = node.getChild("Identifier");
      assert.ok(identifier !== null, `a selector without a metric in ${expr}`);
      const labels = metrics.get(text(identifier.from, identifier.to)) ?? new Map<string, string>();
      for (const matcher of node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? []) {
        const [, label = "", value = ""] =
          /^(\w+)\s*(?:=~|!~|!=|=)\s*"(.*)"$/.exec(text(matcher.from, matcher.to)) ?? [];
        assert.notEqual(label, "", text(matcher.from, matcher.to));
        labels.set(label, value);
      }
      metrics.set(text(identifier.from, identifier.to), labels);
    } else if (name === "LabelName" && node.parent?.name === "GroupingLabels")
      groups.push(text(node.from, node.to));
  } while (cursor.next());
  return { metrics, groups };
}

async function assertKnown(expr: string, where: string): Promise<void> {
  const exposed = await exposedMetrics();
  const { metrics, groups } = asked(expr);
  assert.ok(metrics.size > 0, `${where} asks for nothing`);
  const labelsOf = new Set(OF_TARGETS);
  for (const [written, compared] of metrics) {
    const name = exposed.has(written) ? written : written.replace(/_(bucket|sum|count)$/, "");
    assert.ok(exposed.has(name) || OF_PROMETHEUS.has(name), `${where}: there is no metric ${written}`);
    const own = shownLabels().get(name) ?? [];
    for (const label of own) labelsOf.add(label);
    for (const [label, value] of compared) {
      assert.ok(own.includes(label) || OF_TARGETS.has(label), `${where}: ${name} has no label ${label}`);
      if (label === "code")
        for (const code of value.split("|")) assert.ok(ERRORS.has(code), `${where}: ${code}`);
    }
  }
  for (const label of groups)
    assert.ok(labelsOf.has(label), `${where}: groups by ${label}, which is no label of it`);
}

const [ALERTS] = documentsOf(join(ROOT, "deploy/prometheus/alerts.yaml")) as [
  { readonly groups: readonly { readonly rules: readonly Rule[] }[] },
];
const DASHBOARD = JSON.parse(read("deploy/grafana/dauys.json")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
};

test("every metric, label and error of the alert rules exists", async () => {
  const rules = ALERTS.groups.flatMap((group) => group.rules);
  assert.ok(rules.length >= 15, `${rules.length} rules`);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, expr, labels, annotations } of rules) {
    await assertKnown(expr, alert);
    assert.ok(["page", "ticket"].includes(labels.severity), alert);
    const { groups } = asked(expr);
    for (const [, label = ""] of annotations.summary.matchAll(/\$labels\.(\w+)/g))
      assert.ok(groups.length === 0 ? true : groups.includes(label), `${alert}: ${label} is aggregated away`);
  }
});

test("each alert has a test case that makes it fire", () => {
  const [{ tests }] = documentsOf(join(ROOT, CASES)) as [
    {
      tests: readonly { readonly alert_rule_test: readonly { alertname: string; exp_alerts: unknown[] }[] }[];
    },
  ];
  const firing = tests
    .flatMap((one) => one.alert_rule_test)
    .filter(({ exp_alerts }) => exp_alerts.length > 0);
  assert.deepEqual(
    [...new Set(firing.map(({ alertname }) => alertname))].toSorted(),
    ALERTS.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).toSorted(),
  );
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
test("promtool confirms that the alerts fire", {
  skip: hasPromtool ? false : "promtool is not installed",
}, () => {
  const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", CASES], {
    cwd: ROOT,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
});

test("every metric and label of the dashboard exists", async () => {
  const targets = DASHBOARD.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr })),
  );
  assert.ok(targets.length >= 30, `${targets.length} expressions`);
  for (const { title, expr } of targets) {
    // Values that Grafana substitutes for its variables.
    await assertKnown(expr.replaceAll("$__rate_interval", "1m"), title);
  }
  const [, metric = "", label = ""] =
    /^label_values\((\w+), (\w+)\)$/.exec(
      DASHBOARD.templating.list.find(({ name }) => name === "instance")!.query,
    ) ?? [];
  assert.ok((await exposedMetrics()).has(metric), metric);
  assert.ok(OF_TARGETS.has(label), label);
});

test("finds an unknown metric, an unknown label and broken PromQL", async () => {
  await assert.rejects(assertKnown("rate(live_sesions[5m]) > 0", "a"), /no metric live_sesions/);
  await assert.rejects(assertKnown('errors_total{name="x"} > 0', "a"), /no label name/);
  await assert.rejects(assertKnown("sum by (kind) (live_sessions)", "a"), /groups by kind/);
  await assert.rejects(assertKnown("sum(rate(live_sessions[5m])", "a"), /no PromQL/);
});
