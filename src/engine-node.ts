import { setTimeout as sleep } from "node:timers/promises";
import { LiveHost } from "../actors/node/live-host.js";
import { startLiveWorker } from "../native/start-workers.js";
import { peerName } from "./bus/open-bus.js";
import { startOperatorServer } from "./http/operator-server.js";
import { Metrics } from "./observe/metrics.js";
import { openTraces } from "./observe/traces.js";
import { systemClock } from "./ports/clock.js";
import { SERVICE_VERSION } from "./protocol/service-version.js";
import { readTunings, type ServiceOptions } from "./service/compose.js";
import { liveObserver, workerSettings } from "./service/engines.js";
import { connectBus, manifestHash } from "./service/fleet.js";
import { readInstalledModels } from "./service/installed-models.js";
import { readMachine } from "./service/machine.js";
import { Owned } from "./service/owned.js";
import { missingProviders, Placements } from "./service/placements.js";
import { planModels } from "./service/planned-workers.js";
import type { Program } from "./service/process.js";
import { THREAD_ENTRIES } from "./service/thread-entries.js";

/**
 * `ROLE=engine`: live workers that gateways reach over the bus, of the default model. Without a database, keys and a public
 * port; what was started is stopped when a later part fails.
 *
 * @throws {ConfigError} when the bus does not take the connection
 */
export async function startEngineNode({
  config,
  log,
  entries: others = {},
}: ServiceOptions): Promise<Program> {
  const owned = new Owned(log);
  try {
    const metrics = new Metrics({ withProcess: config.operatorPort > 0 });
    const node = peerName();
    const bus = await connectBus({ config, log, metrics }, `engine ${node}`, owned);
    const { tracer, close } = await openTraces({
      endpoint: config.otlpEndpoint,
      version: SERVICE_VERSION,
      instance: node,
      log,
    });
    owned.add("traces", close);
    const installed = await readInstalledModels(config, log);
    const [model] = installed.recognizers;
    const { manifest } = model!;
    const placements = new Placements(config, await missingProviders(config), { metrics, log });
    const machine = readMachine();
    const { ofDefaults } = await planModels(config, installed, machine, (kind) =>
      placements.deviceCount(kind),
    );
    const { count, reason } = ofDefaults.live;
    metrics.engineWorkers.set({ engine: "live", model: manifest.id, reason }, count);
    const entries = { ...THREAD_ENTRIES, ...others };
    const tunings = await readTunings(config, log);
    const settings = workerSettings({ config, entries, placements, tunings }, "live", model!);
    const { cell, zone, liveSessionsPerWorker: sessionsPerWorker } = config;
    const host = new LiveHost({
      ...{ bus, node, cell, zone, sessionsPerWorker, log },
      model: manifest.id,
      manifest: manifestHash(manifest),
      workerCount: count,
      startWorker: (cells, onMessage, index) => startLiveWorker(settings, cells, onMessage, index),
      contextSamples: manifest.contextFrames * manifest.frameSamples,
      clock: systemClock,
      onPace: liveObserver(metrics, manifest.id).paced,
      tracer,
    });
    owned.add("live host", () => host.stop());
    await host.start();
    const { operatorHost, operatorPort } = config;
    const status = () => ({
      engine: "live",
      model: manifest.id,
      ...{ node, sessions: host.sessionCount, capacity: host.capacity, lanes: host.laneCount },
      ...placements.status("live", manifest.id),
    });
    const operator =
      operatorPort === 0
        ? null
        : await startOperatorServer({
            ...{ host: operatorHost, port: operatorPort, metrics, log },
            engines: () => [status()],
            isReady: () => host.isReady,
          });
    if (operator !== null) owned.add("operator port", () => operator.close());
    let stopping: Promise<void> | null = null;
    const stop = async () => {
      await host.drain(config.drainMs);
      await owned.stop();
    };
    return {
      port: operator?.port ?? 0,
      banner: `\nDauys engine node ${node}: ${count} live workers (${reason}) of ${manifest.id}\n`,
      lost: Promise.race([host.lost, placements.lost]),
      endWorkers: (withinMs) =>
        Promise.race([
          host.stop().then(
            () => true,
            () => true,
          ),
          sleep(withinMs, false),
        ]),
      noteDriverFault: () => {},
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await owned.stop();
    throw error;
  }
}
