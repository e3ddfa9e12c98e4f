import { PROVIDERS, type Provider, takesDevice } from "../../core/domain/placement/provider.js";
import {
  type EngineWork,
  type EngineWorth,
  engineWork,
  smallWork,
} from "../../native/devices/engine-shapes.js";
import { type FoundLibrary, type MachineFacts, machineFacts } from "../../native/devices/machine.js";
import { type Trial, tryProvider } from "../../native/devices/try-provider.js";
import type { PackageFolder } from "../../native/models/package.js";
import { readablePackages } from "../models/folders.js";
import { CommandError, type CommandInput, printNote, printResult } from "./command.js";
import { foldersOf } from "./model-folders.js";
import { aligned } from "./table.js";

/** Providers compile kernels during their first runs; with large graphs, software renderers need minutes. */
const WITHIN_MS = 120_000;

interface EngineFigures {
  readonly engine: EngineWork["engine"];
  readonly model: string;
  /** Null if nothing was measured, or not everything. */
  readonly worth: EngineWorth | null;
  /** Why the measurement is incomplete; null if it is complete or was not requested. */
  readonly unmeasured: string | null;
}

export interface ProviderReport {
  readonly provider: Provider;
  readonly works: boolean;
  /** Why the provider does not work; null if it works. */
  readonly reason: string | null;
  readonly missing: readonly FoundLibrary[];
  readonly engines: readonly EngineFigures[];
}

/**
 * Tests every provider and prints the report.
 *
 * @param measuredMs time for each engine on each provider; null for a single short run
 * @throws {CommandError} if a provider listed in EXECUTION_PROVIDERS (by default the CPU) does not work
 */
export async function examine(input: CommandInput, measuredMs: number | null): Promise<void> {
  const { options, environment } = input;
  const facts = await machineFacts();
  const packages = await readablePackages(foldersOf(input));
  const reports: ProviderReport[] = [];
  for (const provider of PROVIDERS.filter((name) => isForPlatform(name))) {
    if (!options.isSet("json")) printNote(`testing ${provider}`);
    reports.push(await reportOn(provider, facts, packages, measuredMs));
  }
  printResult(input, toJson(facts, reports), lines(facts, reports).join("\n"));
  const wanted = (environment["EXECUTION_PROVIDERS"] ?? "cpu").split(",").map((name) => name.trim());
  const broken = reports.filter(({ provider, works }) => !works && wanted.includes(provider));
  if (broken.length === 0) return;
  throw new CommandError(
    broken.map(({ provider, reason }) => `${provider} does not work: ${reason}`).join("; "),
  );
}

function isForPlatform(provider: Provider): boolean {
  if (provider === "coreml") return process.platform === "darwin";
  if (provider === "dml") return process.platform === "win32";
  return provider !== "cuda" || process.platform !== "darwin";
}

async function reportOn(
  provider: Provider,
  facts: MachineFacts,
  packages: readonly PackageFolder[],
  measuredMs: number | null,
): Promise<ProviderReport> {
  const engines: EngineFigures[] = [];
  let works = false;
  let reason: string | null = null;
  for (const model of packages) {
    for (const work of engineWork(model)) {
      // A provider that cannot load one engine counts as failed for all of them.
      if (reason !== null) break;
      const trial = await tryWork(provider, model, work, measuredMs);
      works ||= trial.shapes.length > 0;
      if (!works) reason = reasonOf(trial);
      const worth = measuredMs === null ? null : work.worth(trial.shapes);
      const unmeasured = measuredMs === null || worth !== null ? null : reasonOf(trial);
      engines.push({ engine: work.engine, model: model.manifest.id, worth, unmeasured });
    }
  }
  if (engines.length === 0) reason = "no installed model belongs to a family that doctor can test";
  const missing = works ? [] : librariesOf(provider, facts).filter(({ path }) => path === null);
  return { provider, works, reason: works ? null : reason, missing, engines: works ? engines : [] };
}

function tryWork(
  provider: Provider,
  { folder }: PackageFolder,
  work: EngineWork,
  measuredMs: number | null,
): Promise<Trial> {
  const { graphs } = measuredMs === null ? smallWork(work) : work;
  return tryProvider(
    {
      folder,
      place: { provider, device: takesDevice(provider) ? 0 : null },
      graphs,
      placed: [],
      streams: [],
      shapeMs: (measuredMs ?? 0) / graphs.length,
      threads: 1,
      compares: false,
    },
    { withinMs: WITHIN_MS },
  );
}

function reasonOf({ failures, ended }: Trial): string {
  const [failure] = failures;
  return failure?.reason.split("\n")[0] ?? ended ?? "no run completed";
}

function librariesOf(provider: Provider, { cuda, vulkan }: MachineFacts): readonly FoundLibrary[] {
  if (provider === "cuda") return cuda;
  return provider === "webgpu" ? vulkan : [];
}

function lines(facts: MachineFacts, reports: readonly ProviderReport[]): readonly string[] {
  const { node, platform, onnxruntime, backends, nvidia, vulkan, vulkanDrivers } = facts;
  const known = backends.map(({ name, bundled }) => `${name}${bundled ? "" : " (not bundled)"}`);
  const devices = nvidia.map(({ name, driver, memory }) => `${name}, ${memory}, driver ${driver}`);
  const loader = vulkan.slice(0, 1).map(({ name, path }) => path ?? `${name} is missing`);
  const drivers = vulkanDrivers.length === 0 ? "no drivers" : vulkanDrivers.join(", ");
  return [
    ...aligned([
      ["node", `${node}, ${platform}`],
      ["onnxruntime", `${onnxruntime}; ${known.join(", ")}`],
      ["NVIDIA", devices.length === 0 ? "no device found by nvidia-smi" : devices.join("; ")],
      ["Vulkan", `${loader.join(", ")}; ${drivers}`],
    ]),
    ...reports.flatMap(providerLines),
  ];
}

export function providerLines({
  provider,
  works,
  reason,
  missing,
  engines,
}: ProviderReport): readonly string[] {
  return [
    "",
    `${provider.padEnd(12)} ${works ? "works" : `does not work: ${reason}`}`,
    ...missing.map(({ name, bring }) => `  missing ${name}: ${bring}`),
    ...engines.flatMap(({ engine, model, worth, unmeasured }) => {
      const shown = worth === null ? unmeasured && `not measured: ${unmeasured}` : worthLine(worth);
      return shown === null ? [] : [`  ${engine.padEnd(7)} ${shown} (${model})`];
    }),
  ];
}

function worthLine({ audioSecondsPerSecond, sessions, ms }: EngineWorth): string {
  if (sessions !== null) return `${sessions} sessions (model steps only), ${ms.toFixed(2)} ms per step`;
  return `${audioSecondsPerSecond.toFixed(1)} seconds of audio per second`;
}

function toJson({ vulkanDrivers, ...facts }: MachineFacts, reports: readonly ProviderReport[]) {
  return {
    ...facts,
    vulkan_drivers: vulkanDrivers,
    providers: reports.map(({ provider, works, reason, missing, engines }) => ({
      provider,
      works,
      reason,
      missing: missing.map(({ name, bring }) => ({ name, bring })),
      engines: engines.map(({ engine, model, worth, unmeasured }) => ({
        engine,
        model,
        audio_seconds_per_second: worth?.audioSecondsPerSecond ?? null,
        sessions: worth?.sessions ?? null,
        ms: worth?.ms ?? null,
        unmeasured,
      })),
    })),
  };
}
