import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import { SERVED_PARTS } from "../../core/domain/served.js";
import { readConfig, SETTINGS } from "../../src/settings/settings.js";
import { ROOT, read } from "../docs/markdown.js";
import {
  kustomize,
  peersOf,
  type Resource,
  renderedByKubectl,
  type Selector,
  selects,
  WITHOUT_KUSTOMIZE,
} from "./kustomize.js";

const FOLDER = join(ROOT, "deploy/kubernetes");
const OVERLAYS = readdirSync(join(FOLDER, "overlays"));
const RENDERED = new Map(OVERLAYS.map((name) => [name, kustomize(join(FOLDER, "overlays", name))] as const));
const MODELS: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  ...{ Deployment, StatefulSet, HorizontalPodAutoscaler, NetworkPolicy, PodDisruptionBudget, ConfigMap },
  ...{ Service, ServiceAccount, HTTPRoute, ScaledObject },
};
const SECRET_SETTINGS = new Set(SETTINGS.filter(({ isSecret }) => isSecret === true).map(({ name }) => name));
const NAMES = new Set(SETTINGS.map(({ name }) => name));
/** Paths on the operator port; `/ready` is for engines. */
const OPERATOR_PATHS = new Set(
  [...read("src/http/operator-server.ts").matchAll(/path [!=]== "([^"]+)"/g)].map(([, path = ""]) => path),
);
/** Seconds that workers and settlements may take after DRAIN_S: at most 10 s and 5 s, plus a margin. */
const STOP_SECONDS = 20;

/**
 * Returns the fields of an object that its checker never read, and which Kubernetes would drop:
 * kubernetes-models compiles schemas to code that reads every known field and ignores others.
 */
function unreadFields(resource: Resource, Model: (typeof MODELS)[string]): string[] {
  const unread = new Set<string>();
  const watched = (value: unknown, path: string): unknown => {
    if (typeof value !== "object" || value === null) return value;
    for (const key of Object.keys(value)) unread.add(`${path}/${key}`);
    const inner = new Map<string, unknown>();
    return new Proxy(value, {
      get: (target, key) => {
        if (typeof key !== "string" || !Object.hasOwn(target, key)) return Reflect.get(target, key);
        unread.delete(`${path}/${key}`);
        if (!inner.has(key)) inner.set(key, watched(Reflect.get(target, key), `${path}/${key}`));
        return inner.get(key);
      },
    });
  };
  // The constructor copies its argument.
  Model.prototype.validate.call(watched(new Model(resource as never), ""));
  return [...unread];
}

function podsOf(
  resources: readonly Resource[],
): { readonly owner: Resource; readonly spec: Resource["spec"] }[] {
  const owners = resources.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  return owners.map((owner) => ({ owner, spec: owner["spec"].template.spec }));
}

/** Returns the service's settings in a container. The pepper is in the Secret. */
function configOf(container: Resource, resources: readonly Resource[]) {
  const hasPepper = container.env?.some(
    ({ name, valueFrom }: Resource) => name === "KEY_PEPPER" && valueFrom !== undefined,
  );
  return readConfig({
    ...environmentOf(container, resources),
    ...(hasPepper === true && { KEY_PEPPER: "the pepper of the Secret" }),
  });
}

/** Returns the environment of our container with its ConfigMap, but without Secrets. */
function environmentOf(container: Resource["spec"], resources: readonly Resource[]): Record<string, string> {
  const maps = (container.envFrom ?? []).map(({ configMapRef }: Resource) => {
    const map = resources.find(
      ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === configMapRef.name,
    );
    assert.ok(map !== undefined, `there is no ConfigMap ${configMapRef.name}`);
    return map["data"];
  });
  const own = (container.env ?? []).filter(({ value }: Resource) => value !== undefined);
  return Object.assign({}, ...maps, ...own.map(({ name, value }: Resource) => ({ [name]: value })));
}

/** Returns whether an address contains no user and password. */
function isOpenAddress(value: string): boolean {
  return /^[a-z]+:\/\/[^@/]+$/.test(value);
}

/** KEDA finds the pods of the Service in the address, and calls each of them on the address's port. */
function assertDemand(asked: Record<string, string>, resources: readonly Resource[], id: string): void {
  const { hostname, port, pathname } = new URL(asked["url"]!);
  const [name, namespace] = hostname.split(".");
  const service = resources.find((one) => one.kind === "Service" && one.metadata.name === name);
  assert.ok(service !== undefined && service.metadata.namespace === namespace, `${id}: ${hostname}`);
  assert.notEqual(service["spec"].clusterIP, "None", `${id}: KEDA wants a Service with an address`);
  const pods = podsOf(resources).filter(({ owner }) =>
    Object.entries(service["spec"].selector).every(
      ([label, value]) => owner["spec"].template.metadata.labels[label] === value,
    ),
  );
  assert.ok(pods.length > 0, `${id}: no pod behind ${name}`);
  for (const { spec } of pods) {
    const container = spec.containers.find(isOurs);
    const ports = container.ports.map(({ containerPort }: Resource) => containerPort);
    assert.ok(ports.includes(Number(port)), `${id}: the pods have no port ${port}`);
    assert.equal(configOf(container, resources).role, "gateway", `${id}: only gateways know`);
  }
  assert.ok(OPERATOR_PATHS.has(pathname), `${id}: ${pathname}`);
  const [kind = "", member] = asked["valueLocation"]!.split(".");
  assert.ok(SERVED_PARTS.some((part) => part === kind) && member === "wanted", asked["valueLocation"]);
  assert.deepEqual([asked["aggregateFromKubeServiceEndpoints"], asked["aggregationType"]], ["true", "sum"]);
}

/** Client port of a NATS server. */
const BUS_PORT = 4222;

type Pods = ReturnType<typeof podsOf>[number];

/** Returns whether policies allow one pod to send to the other's bus port, or to receive from it. */
function isAllowed(
  resources: readonly Resource[],
  way: "ingress" | "egress",
  own: Pods,
  other: Pods,
): boolean {
  const labelsOf = ({ owner }: Pods) => owner["spec"].template.metadata.labels;
  const server = way === "egress" ? other : own;
  const ports = server.spec.containers.flatMap((container: Resource) => container["ports"] ?? []);
  const isBus = ({ port }: { port: number | string }) =>
    port === BUS_PORT ||
    ports.some((one: Resource) => one["name"] === port && one["containerPort"] === BUS_PORT);
  const type = way === "egress" ? "Egress" : "Ingress";
  const policies = resources.filter(
    ({ kind, spec }) =>
      kind === "NetworkPolicy" && spec.policyTypes.includes(type) && selects(spec.podSelector, labelsOf(own)),
  );
  const rules = policies.flatMap(({ spec }) => spec[way] ?? []);
  return (
    policies.length === 0 ||
    rules.some(
      (rule: Resource) =>
        rule["ports"].some(isBus) &&
        (rule[way === "egress" ? "to" : "from"] as { podSelector?: Selector }[]).some(
          ({ podSelector }) => podSelector !== undefined && selects(podSelector, labelsOf(other)),
        ),
    )
  );
}

/** Resolves aliases into copies, as YAML does. */
function byName(resources: readonly Resource[]): Record<string, unknown> {
  const named = resources.map((one) => [`${one.kind} ${one.metadata.name}`, JSON.parse(JSON.stringify(one))]);
  return Object.fromEntries(named);
}

const isOurs = ({ name }: { readonly name: string }) => name === "dauys";

for (const [overlay, resources] of RENDERED) {
  describe(`overlay ${overlay}`, () => {
    test("kustomize renders the same objects", { skip: WITHOUT_KUSTOMIZE }, () => {
      const theirs = renderedByKubectl(join(FOLDER, "overlays", overlay));
      assert.deepEqual(byName(resources), byName(theirs));
    });

    test("every object is valid without fields that Kubernetes would drop", () => {
      for (const resource of resources) {
        const Model = MODELS[resource.kind];
        assert.ok(Model !== undefined, resource.kind);
        assert.deepEqual(unreadFields(resource, Model), [], `${resource.kind} ${resource.metadata.name}`);
      }
      const ids = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      assert.equal(new Set(ids).size, ids.length, ids.join(", "));
    });

    test("every setting exists with a valid value; secrets are only in Secrets", () => {
      for (const { spec } of podsOf(resources)) {
        for (const container of spec.containers.filter(isOurs)) {
          const environment = environmentOf(container, resources);
          const names = [
            ...Object.keys(environment),
            ...(container.env ?? []).map(({ name }: Resource) => name),
          ];
          for (const name of names) assert.ok(NAMES.has(name), `there is no setting ${name}`);
          for (const [name, value] of Object.entries(environment))
            assert.ok(!SECRET_SETTINGS.has(name) || isOpenAddress(value), `${name} is a secret`);
          configOf(container, resources);
          for (const { name, valueFrom } of container.env ?? [])
            if (valueFrom !== undefined) assert.equal(valueFrom.secretKeyRef.key, name);
        }
      }
    });

    test("probes request existing paths on ports of the image", () => {
      const interfacePaths = new Set(["/health", "/ready"]);
      for (const path of interfacePaths)
        assert.ok(read("core/protocol/endpoints.ts").includes(`"${path}"`), path);
      for (const { spec } of podsOf(resources)) {
        for (const container of spec.containers.filter(isOurs)) {
          const ports = Object.fromEntries(
            container.ports.map(({ name, containerPort }: Resource) => [name, containerPort]),
          );
          assert.deepEqual(ports, { ...(ports["http"] !== undefined && { http: 8080 }), operators: 9090 });
          for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
            const { path, port } = container[probe].httpGet;
            assert.ok(
              (port === "http" ? interfacePaths : OPERATOR_PATHS).has(path),
              `${probe} ${port}${path}`,
            );
            assert.ok(port in ports, `${probe} asks port ${port}`);
          }
        }
      }
    });

    test("a stopping pod has enough time for DRAIN_S and the stop of the service", () => {
      for (const { owner, spec } of podsOf(resources)) {
        for (const container of spec.containers.filter(isOurs)) {
          const { drainMs } = configOf(container, resources);
          const [, seconds = "0"] = container.lifecycle?.preStop?.exec?.command ?? [];
          const needed = Number(seconds) + drainMs / 1_000 + STOP_SECONDS;
          assert.ok(spec.terminationGracePeriodSeconds >= needed, `${owner.metadata.name}: ${needed} s`);
        }
      }
    });

    test("pods run as the image's user, with a read-only file system and no cluster token", () => {
      for (const { spec } of podsOf(resources)) {
        assert.equal(spec.automountServiceAccountToken, false);
        assert.equal(spec.securityContext.runAsNonRoot, true);
        for (const container of spec.containers) {
          const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } =
            container.securityContext;
          assert.deepEqual([allowPrivilegeEscalation, readOnlyRootFilesystem], [false, true], container.name);
          assert.deepEqual(capabilities.drop, ["ALL"]);
        }
        if (spec.containers.some(isOurs)) assert.equal(spec.securityContext.runAsUser, 10_001);
      }
    });

    test("policies let gateways and engines reach the bus in both directions", () => {
      const pods = podsOf(resources);
      const bus = pods.find(({ owner }) => owner.kind === "StatefulSet");
      const users = pods.filter(({ spec }) => spec.containers.some(isOurs));
      if (bus === undefined) {
        for (const { spec } of users)
          assert.equal(configOf(spec.containers.find(isOurs), resources).role, "all");
        return;
      }
      for (const user of users) {
        const id = user.owner.metadata.name;
        assert.ok(isAllowed(resources, "egress", user, bus), `${id} may not reach the bus`);
        assert.ok(isAllowed(resources, "ingress", bus, user), `the bus does not let ${id} come`);
      }
    });

    test("selectors, scalers and routes refer to existing objects", () => {
      const pods = podsOf(resources).map(({ owner }) => owner["spec"].template.metadata.labels);
      const finds = (labels: Record<string, string>) =>
        pods.some((pod) => selects({ matchLabels: labels }, pod));
      const has = (kind: string, name: string) =>
        resources.some((one) => one.kind === kind && one.metadata.name === name);
      for (const resource of resources) {
        const { kind, metadata, spec } = resource;
        const id = `${kind} ${metadata.name}`;
        if (kind === "Service") assert.ok(finds(spec.selector), id);
        if (kind === "PodDisruptionBudget") assert.ok(finds(spec.selector.matchLabels), id);
        if (kind === "NetworkPolicy") {
          const peers = peersOf(resource);
          // Other namespaces are not ours.
          const near = peers.filter(({ namespaceSelector }) => namespaceSelector === undefined);
          for (const selector of [spec.podSelector, ...near.flatMap(({ podSelector }) => podSelector ?? [])])
            assert.ok(
              pods.some((pod) => selects(selector, pod)),
              `${id}: ${JSON.stringify(selector)} selects no pod`,
            );
        }
        if (kind === "HorizontalPodAutoscaler" || kind === "ScaledObject")
          assert.ok(has("Deployment", spec.scaleTargetRef.name), id);
        for (const { type, metadata: asked } of kind === "ScaledObject" ? spec.triggers : [])
          if (type === "metrics-api") assertDemand(asked, resources, id);
        if (kind === "Deployment") assert.ok(finds(spec.selector.matchLabels), id);
        if (kind === "Deployment")
          assert.ok(has("ServiceAccount", spec.template.spec.serviceAccountName), id);
        for (const { backendRefs } of kind === "HTTPRoute" ? spec.rules : [])
          for (const { name, port } of backendRefs) {
            const service = resources.find((one) => one.kind === "Service" && one.metadata.name === name);
            assert.ok(
              service?.["spec"].ports.some((one: Resource) => one["port"] === port),
              `${id} to ${name}:${port}`,
            );
          }
      }
    });
  });
}

test("finds a typo in a field or a value", () => {
  const deployment = () => RENDERED.get("single")!.find(({ kind }) => kind === "Deployment")!;
  const misspelt = structuredClone(deployment());
  misspelt["spec"].template.spec.containers[0].readynessProbe = {};
  assert.deepEqual(unreadFields(misspelt, Deployment), ["/spec/template/spec/containers/0/readynessProbe"]);
  const wrong = structuredClone(deployment());
  wrong["spec"].template.spec.containers[0].ports[0].containerPort = "http";
  assert.throws(() => unreadFields(wrong, Deployment), /must be integer/);
});

test("every file of the folder belongs to an overlay", () => {
  const files = readdirSync(FOLDER, { recursive: true }) as string[];
  const named = new Set<string>();
  for (const file of files.filter((path) => path.endsWith("kustomization.yaml"))) {
    const folder = join(FOLDER, file, "..");
    named.add(join(folder, "kustomization.yaml"));
    for (const [, name = ""] of read(`deploy/kubernetes/${file}`).matchAll(/^ {2}- (\S+)$/gm))
      if (existsSync(join(folder, name))) named.add(join(folder, name));
  }
  const lost = files
    .filter((path) => path.endsWith(".yaml"))
    .filter((path) => !named.has(join(FOLDER, path)));
  assert.deepEqual(lost, []);
});
