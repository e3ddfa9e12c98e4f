import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";

/** Kubernetes reads YAML 1.1, in which `0440` is octal. */
const YAML = { version: "1.1", uniqueKeys: true } as const;
/** The suffix of a generated ConfigMap's name is a hash of its content. */
const HASHED_NAME = /^(\s*name: [a-z-]+)-(?=\w{10}$)[a-z0-9]*\d[a-z0-9]*$/gm;

/** Why kustomize itself cannot run here; false if it can. */
export const WITHOUT_KUSTOMIZE: string | false =
  spawnSync("kubectl", ["kustomize", "--help"]).status === 0 ? false : "kubectl is not installed";

/** A Kubernetes object, from a file or from kustomize. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of many kinds of objects
  [member: string]: any;
}

interface Generator {
  readonly name: string;
  readonly behavior?: "create" | "merge";
  readonly literals?: readonly string[];
  readonly files?: readonly string[];
}

interface Patch {
  readonly target: { readonly kind: string; readonly name?: string };
  /** JSON patches, written as YAML. */
  readonly patch: string;
}

interface Kustomization {
  readonly resources?: readonly string[];
  readonly namespace?: string;
  readonly nameSuffix?: string;
  readonly labels?: readonly {
    readonly pairs: Record<string, string>;
    readonly includeSelectors?: boolean;
  }[];
  readonly configMapGenerator?: readonly Generator[];
  readonly patches?: readonly Patch[];
  readonly images?: readonly { readonly name: string; readonly newName?: string; readonly newTag?: string }[];
}

const KNOWN = new Set([
  ...[
    "apiVersion",
    "kind",
    "resources",
    "namespace",
    "nameSuffix",
    "labels",
    "configMapGenerator",
    "patches",
  ],
  "images",
]);
/** References that kustomize renames without configuration. */
const REFERENCES: Readonly<Record<string, (resource: Resource) => { name: string }[]>> = {
  HorizontalPodAutoscaler: ({ spec }) => [spec.scaleTargetRef],
  Deployment: ({ spec }) =>
    spec.template.spec.containers.flatMap((container: Resource) =>
      (container["envFrom"] ?? []).flatMap(({ configMapRef }: Resource) => configMapRef ?? []),
    ),
};

/**
 * Renders a folder like `kubectl kustomize`, with the few features that our files use. Throws for other
 * features. Names of generated ConfigMaps get no hash suffix.
 */
export function kustomize(folder: string): Resource[] {
  const kustomization = parse(
    readFileSync(join(folder, "kustomization.yaml"), "utf8"),
    YAML,
  ) as Kustomization;
  for (const member of Object.keys(kustomization))
    if (!KNOWN.has(member)) throw new Error(`${folder}: ${member} is more than this test understands`);
  const { namespace, nameSuffix = "", labels = [], images = [] } = kustomization;
  const resources = (kustomization.resources ?? []).flatMap((name) => resourcesOf(join(folder, name)));
  for (const generator of kustomization.configMapGenerator ?? []) generate(resources, generator, folder);
  for (const patch of kustomization.patches ?? []) apply(resources, patch, folder);
  const names = new Map(
    resources.map(({ kind, metadata }) => [`${kind} ${metadata.name}`, metadata.name + nameSuffix]),
  );
  for (const resource of resources) {
    for (const reference of REFERENCES[resource.kind]?.(resource) ?? [])
      reference.name = renamed(names, reference.name) ?? reference.name;
    const account = resource["spec"]?.template?.spec?.serviceAccountName;
    if (account !== undefined) {
      const spec = resource["spec"].template.spec;
      spec.serviceAccountName = names.get(`ServiceAccount ${account}`) ?? account;
    }
    resource.metadata.name += nameSuffix;
    if (namespace !== undefined) resource.metadata.namespace = namespace;
    for (const { pairs, includeSelectors = false } of labels) label(resource, pairs, includeSelectors);
    for (const container of resource["spec"]?.template?.spec?.containers ?? []) {
      const image = images.find(({ name }) => name === container.image);
      if (image !== undefined) container.image = `${image.newName ?? image.name}:${image.newTag}`;
    }
  }
  return resources;
}

function renamed(names: ReadonlyMap<string, string>, name: string): string | undefined {
  return names.get(`ConfigMap ${name}`) ?? names.get(`Deployment ${name}`);
}

function resourcesOf(path: string): Resource[] {
  if (!existsSync(path)) throw new Error(`${path} is not there`);
  if (statSync(path).isDirectory()) return kustomize(path);
  return documentsOf(path) as Resource[];
}

/** Returns every document of a YAML file. @throws if it is invalid */
export function documentsOf(path: string): unknown[] {
  return documentsIn(readFileSync(path, "utf8"), path);
}

/** Renders a folder with `kubectl kustomize`, and removes the hash suffixes. */
export function renderedByKubectl(folder: string): Resource[] {
  const rendered = execFileSync("kubectl", ["kustomize", folder], { encoding: "utf8" });
  return documentsIn(rendered.replace(HASHED_NAME, "$1"), folder) as Resource[];
}

function documentsIn(text: string, name: string): unknown[] {
  return parseAllDocuments(text, YAML).map((document) => {
    if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]!.message}`);
    return document.toJS();
  });
}

function generate(
  resources: Resource[],
  { name, behavior = "create", literals = [], files = [] }: Generator,
  folder: string,
): void {
  const data = Object.fromEntries([
    ...literals.map((literal) => {
      const at = literal.indexOf("=");
      return [literal.slice(0, at), literal.slice(at + 1)];
    }),
    ...files.map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  ]);
  const found = resources.find(
    ({ kind, metadata }) =>
      kind === "ConfigMap" && (metadata.name === name || metadata.name.startsWith(`${name}-`)),
  );
  if ((found !== undefined) !== (behavior === "merge"))
    throw new Error(`ConfigMap ${name} cannot be ${behavior}d`);
  if (found !== undefined) Object.assign(found["data"], data);
  else resources.push({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
}

function apply(resources: readonly Resource[], { target, patch }: Patch, folder: string): void {
  const targets = resources.filter(
    ({ kind, metadata }) =>
      kind === target.kind && (target.name === undefined || target.name === metadata.name),
  );
  if (targets.length === 0) throw new Error(`${folder}: nothing is a ${target.kind} ${target.name ?? ""}`);
  for (const resource of targets) {
    for (const { op, path, value } of parse(patch, YAML) as { op: string; path: string; value: unknown }[]) {
      const steps = path
        .slice(1)
        .split("/")
        .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
      const last = steps.pop()!;
      const at = steps.reduce((inner: Resource, step) => inner[step], resource);
      if (op === "remove" && last in at) Array.isArray(at) ? at.splice(Number(last), 1) : delete at[last];
      else if (op === "add" && last === "-") (at as unknown as unknown[]).push(value);
      else if (op === "add" || (op === "replace" && last in at)) at[last] = value;
      else throw new Error(`${folder}: cannot ${op} ${path}`);
    }
  }
}

export interface Selector {
  matchLabels?: Record<string, string>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/**
 * Returns whether a selector matches a pod with these labels. @throws for operators that our files do not use
 */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== "In") throw new Error(`${operator} is more than this test understands`);
      return values.includes(labels[key] ?? "");
    })
  );
}

/** Returns the rules of a NetworkPolicy: the traffic allowed to and from its pods. */
export function peersOf({ spec }: Resource): { podSelector?: Selector; namespaceSelector?: Selector }[] {
  const incoming = (spec.ingress ?? []).flatMap(({ from }: Resource) => from ?? []);
  return [...incoming, ...(spec.egress ?? []).flatMap(({ to }: Resource) => to ?? [])];
}

function label(resource: Resource, pairs: Record<string, string>, includeSelectors: boolean): void {
  resource.metadata.labels = { ...resource.metadata.labels, ...pairs };
  if (!includeSelectors) return;
  const { kind, spec } = resource;
  const add = (selector: Selector) => {
    selector.matchLabels = { ...selector.matchLabels, ...pairs };
  };
  if (kind === "Service") spec.selector = { ...spec.selector, ...pairs };
  if (["Deployment", "StatefulSet", "PodDisruptionBudget"].includes(kind)) add(spec.selector);
  if (kind === "NetworkPolicy") {
    add(spec.podSelector);
    // kustomize adds labels only where some exist already.
    for (const peer of peersOf(resource))
      if (peer.podSelector?.matchLabels !== undefined) add(peer.podSelector);
  }
  const template = spec?.template;
  if (template?.metadata === undefined) return;
  template.metadata.labels = { ...template.metadata.labels, ...pairs };
  for (const { labelSelector } of template.spec.topologySpreadConstraints ?? []) add(labelSelector);
}
