import "../models/no-telemetry.js";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, type Tensor } from "onnxruntime-node";
import { ON_CPU, type Place } from "../../core/domain/placement/provider.js";
import { checkGraphFiles } from "../models/graph-files.js";
import type { GraphVariant, PackageFolder } from "../models/package.js";
import { feedsOf, type Sizes } from "./feeds.js";
import type { SpeechFigures } from "./speech-trial.js";

export interface GraphShapes {
  readonly graph: string;
  readonly shapes: readonly Sizes[];
}

export interface ShapeFigures {
  readonly graph: string;
  readonly variant: GraphVariant;
  readonly sizes: Sizes;
  /** Time of the first run, which includes the provider's preparation for a shape. */
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly runs: number;
  /** CPU time of this process per run, all threads. */
  readonly cpuMs: number;
  /** Difference from the CPU's own graph, by output; null if not compared. */
  readonly difference: Readonly<Record<string, Difference>> | null;
}

interface Difference {
  /** Largest difference between two values. */
  readonly largest: number;
  readonly of: number;
}

export interface Placed {
  readonly graph: string;
  /** Number of nodes by onnxruntime's name for the provider. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Copies between CPU and device memory within a run. */
  readonly copies: number;
  /** Operators that multiply matrices and ran on the CPU. */
  readonly productsOnCpu: readonly string[];
}

export interface TrialOptions {
  /** Minimum duration per shape; at least `LEAST_RUNS` runs. */
  readonly shapeMs: number;
  readonly threads: number;
  /** Whether to run the CPU's graph on the same inputs, too. */
  readonly compares: boolean;
  /** Alternates runs of a graph's shapes, so that other load on the machine affects all alike. */
  readonly inTurns?: boolean;
}

/** Request to a process that tests a provider: JSON on its standard input. */
export interface TrialRequest extends TrialOptions {
  readonly folder: string;
  readonly place: Place;
  readonly graphs: readonly GraphShapes[];
  /** Graphs and shapes for which to report where nodes run. */
  readonly placed: readonly { readonly graph: string; readonly sizes: Sizes }[];
  /** For a synthesizer: numbers of concurrent pieces to test in turn. */
  readonly streams: readonly number[];
}

/** Responses, one JSON per line of its standard output. */
export type TrialAnswer =
  | { readonly type: "shape"; readonly figures: ShapeFigures }
  | { readonly type: "placed"; readonly placed: Placed }
  | { readonly type: "speech"; readonly figures: SpeechFigures }
  /** A graph that cannot be loaded or run; the trial continues with the next ones. */
  | { readonly type: "failed"; readonly graph: string; readonly reason: string };

const LEAST_RUNS = 3;
const MOST_RUNS = 400;
const PRODUCTS = /MatMul|Gemm|Conv|Attention/;

/** Loads a graph of a package at a place, without the workers' shared state. */
async function openGraph(
  model: PackageFolder,
  graph: string,
  { provider, device }: Place,
  options: InferenceSession.SessionOptions = {},
): Promise<{ readonly session: InferenceSession; readonly variant: GraphVariant }> {
  const { path, variant } = await checkGraphFiles(model, graph, { provider });
  const session = await InferenceSession.create(path, {
    executionProviders: [device === null ? provider : { name: provider, deviceId: device }],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    graphOptimizationLevel: "all",
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
    ...options,
  });
  return { session, variant };
}

/** Measures each shape of a graph, one by one or alternating. @throws errors of the runtime */
export async function timeShapes(
  model: PackageFolder,
  { graph, shapes }: GraphShapes,
  place: Place,
  { shapeMs, threads, compares, inTurns = false }: TrialOptions,
  onFigures: (figures: ShapeFigures) => void,
): Promise<void> {
  const { session, variant } = await openGraph(model, graph, place, { intraOpNumThreads: threads });
  const onCpu = compares ? await openGraph(model, graph, ON_CPU) : null;
  try {
    for (const together of inTurns ? [shapes] : shapes.map((sizes) => [sizes])) {
      const begun = [];
      for (const sizes of together) {
        const feeds = feedsOf(session, sizes);
        const startedAtMs = performance.now();
        const outputs = await session.run(feeds);
        const firstMs = performance.now() - startedAtMs;
        const expected = onCpu === null ? null : await onCpu.session.run(feedsOf(onCpu.session, sizes));
        const difference = expected === null ? null : differences(expected, outputs);
        begun.push({ feeds, figures: { graph, variant, sizes, firstMs, difference } });
      }
      const all = begun.map(({ feeds }) => feeds);
      const times = await timed(session, all, shapeMs * together.length);
      for (const [index, { figures }] of begun.entries()) onFigures({ ...figures, ...times[index]! });
    }
  } finally {
    await session.release();
    await onCpu?.session.release();
  }
}

/** Reads the provider of each node of a graph from the runtime's profile. */
export async function placedNodes(
  model: PackageFolder,
  graph: string,
  place: Place,
  sizes: Sizes,
): Promise<Placed> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-profile-"));
  try {
    const profile = { enableProfiling: true, profileFilePrefix: join(folder, "run") };
    const { session } = await openGraph(model, graph, place, profile);
    await session.run(feedsOf(session, sizes));
    session.endProfiling();
    await session.release();
    const [file] = await readdir(folder);
    return { graph, ...countNodes(JSON.parse(await readFile(join(folder, file!), "utf8"))) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface ProfileEvent {
  readonly cat: string;
  readonly name: string;
  readonly args?: { readonly provider?: string; readonly op_name?: string };
}

function countNodes(events: readonly ProfileEvent[]): Omit<Placed, "graph"> {
  const nodes: Record<string, number> = {};
  let copies = 0;
  const productsOnCpu = new Set<string>();
  for (const { cat, name, args } of events) {
    if (cat !== "Node" || !name.endsWith("_kernel_time") || args?.provider === undefined) continue;
    const provider = args.provider.replace("ExecutionProvider", "");
    nodes[provider] = (nodes[provider] ?? 0) + 1;
    if (args.op_name === "MemcpyFromHost" || args.op_name === "MemcpyToHost") copies++;
    if (provider === "CPU" && PRODUCTS.test(args.op_name ?? "")) productsOnCpu.add(args.op_name!);
  }
  return { nodes, copies, productsOnCpu: [...productsOnCpu].sort() };
}

/** Alternates runs of these inputs for about `forMs` in total. */
async function timed(session: InferenceSession, feeds: readonly Record<string, Tensor>[], forMs: number) {
  const times = feeds.map(() => ({ tookMs: [] as number[], cpuMicros: 0 }));
  const stopAtMs = performance.now() + forMs;
  for (let turn = 0; turn < LEAST_RUNS || (performance.now() < stopAtMs && turn < MOST_RUNS); turn++) {
    for (const [index, own] of feeds.entries()) {
      const cpu = process.cpuUsage();
      const startedAtMs = performance.now();
      await session.run(own);
      times[index]!.tookMs.push(performance.now() - startedAtMs);
      const { user, system } = process.cpuUsage(cpu);
      times[index]!.cpuMicros += user + system;
    }
  }
  return times.map(({ tookMs, cpuMicros }) => {
    const sorted = tookMs.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
    const runs = tookMs.length;
    return { p50Ms: at(0.5), p90Ms: at(0.9), runs, cpuMs: cpuMicros / 1_000 / runs };
  });
}

function differences(
  expected: InferenceSession.ReturnType,
  found: InferenceSession.ReturnType,
): Readonly<Record<string, Difference>> {
  // Skip tensors that only one variant has; their effect shows in later outputs.
  const shared = Object.keys(expected).filter((name) => found[name]?.size === expected[name]!.size);
  return Object.fromEntries(shared.map((name) => [name, difference(expected[name]!, found[name]!)]));
}

function difference(expected: Tensor, found: Tensor): Difference {
  const a = expected.data as Float32Array;
  const b = found.data as Float32Array;
  let largest = 0;
  let of = 0;
  for (let index = 0; index < a.length; index++) {
    const apart = Math.abs(Number(a[index]) - Number(b[index]));
    // NaN counts as the largest possible difference.
    largest = Number.isNaN(apart) ? Number.POSITIVE_INFINITY : Math.max(largest, apart);
    of = Math.max(of, Math.abs(Number(a[index])));
  }
  return { largest, of };
}
