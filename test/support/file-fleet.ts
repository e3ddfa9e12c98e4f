import { FleetDirectory } from "../../actors/fleet/directory.js";
import { type CallEnding, FleetCalls } from "../../actors/fleet/fleet-calls.js";
import { FleetFilePool } from "../../actors/fleet/fleet-file-pool.js";
import { NodePlaces } from "../../actors/fleet/node-places.js";
import { heartbeatsOf } from "../../actors/fleet/subjects.js";
import { CallHost } from "../../actors/node/call-host.js";
import { workingOnFiles } from "../../actors/node/file-host.js";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import type { FilePool } from "../../actors/transcription/file-queue.js";
import type { recognizerIn } from "../../bench/support/recognizer.js";
import { asServiceError } from "../../core/domain/errors.js";
import { USUAL_ROWS } from "../../core/domain/placement/batch-rows.js";
import type { Bus } from "../../core/ports/bus.js";
import { systemClock } from "../../core/ports/clock.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type { DiarizationManifest } from "../../native/models/manifest.js";
import type { ModelPackage } from "../../native/models/package.js";
import type { FileAnswer, FileTask } from "../../native/threads/protocol.js";
import { performTask } from "../../native/transcription/perform.js";
import { SpeakerWorker } from "../../native/transcription/speaker-worker.js";
import { peerName } from "../../src/bus/open-bus.js";
import { openHub } from "./buses.js";
import { RecordedSpans } from "./recorded-spans.js";
import { SILENT } from "./silent-log.js";

const OF_FLEET = { cell: "c", zone: "z", manifest: "h" };
const DIARIZATION_HASH = "d";
const TASKS = 2;

export type Loaded = Awaited<ReturnType<typeof recognizerIn>>;
type Diarization = ModelPackage<DiarizationManifest> | null;

/** Does the work of a file worker in this thread. */
export function poolOf(
  recognizer: Loaded,
  before: (task: FileTask) => Promise<void> = async () => {},
  diarization: Diarization = null,
): FilePool {
  const speakers = new SpeakerWorker(diarization, { intraOpThreads: 1 });
  const options = { rows: USUAL_ROWS, shapes: "usual shapes", speakers } as const;
  return {
    workerCount: TASKS,
    run: async (task): Promise<FileAnswer<unknown>> => {
      if (task.type === "warm-up" || task.type === "release") return { ok: true, value: null };
      await before(task);
      try {
        return { ok: true, value: await performTask(task, recognizer, options) };
      } catch (error) {
        const { code, message } = asServiceError(error);
        return { ok: false, code, message };
      }
    },
    close: async () => {},
  };
}

export function engineOver(
  pool: FilePool,
  { model: { manifest } }: Loaded,
  diarization: Diarization = null,
): TranscriptionEngine {
  const { sampleRateHz, frameSamples, id: modelId } = manifest;
  const forgets = recognizerFamilyOf(manifest).can.forget(manifest);
  return new TranscriptionEngine({
    ...{ pool, modelId, sampleRateHz, frameSamples, forgets },
    speakerShape: diarization?.manifest ?? null,
    maxSeconds: 7_200,
    log: SILENT,
  });
}

/** A gateway's engine for files, and nodes on one bus. */
export async function fileFleet(
  recognizer: Loaded,
  { waitMs = 60_000, diarization = null }: { waitMs?: number; diarization?: Diarization } = {},
) {
  const { manifest } = recognizer.model;
  const own = { ...OF_FLEET, kind: "transcription", model: manifest.id } as const;
  const buses = openHub();
  const hosts: CallHost[] = [];
  /** Of all nodes. */
  const engineSpans = new RecordedSpans();
  const bus = await buses.connect();
  const directory = new FleetDirectory({
    ...{ bus, heartbeats: heartbeatsOf(own.kind), lostMs: 20_000, clock: systemClock, log: SILENT },
  });
  const lost: CallEnding[] = [];
  const calls = new FleetCalls({
    ...{ bus, front: peerName() },
    observer: { began: () => {}, ended: () => {}, lost: (_, ending) => void lost.push(ending) },
  });
  const places = new NodePlaces({ ...own, calls, directory, waitMs });
  const pool = new FleetFilePool({
    ...{ places, sampleRateHz: manifest.sampleRateHz },
    diarization: diarization && {
      manifest: DIARIZATION_HASH,
      sampleRateHz: diarization.manifest.sampleRateHz,
    },
  });
  const engine = engineOver(pool, recognizer, diarization);
  return {
    ...{ engine, pool, lost, hosts, engineSpans },
    /** @param its the node's model for diarization; the fleet's by default */
    startNode: async (
      work = poolOf(recognizer, undefined, diarization),
      through: (bus: Bus) => Bus = (whole) => whole,
      its = diarization,
    ) => {
      const host = new CallHost({
        ...own,
        ...{ bus: through(await buses.connect()), node: peerName(), capacity: TASKS },
        ...{ clock: systemClock, log: SILENT, tracer: engineSpans, runFrames: () => work.runFrames ?? 0 },
        ...(its !== null && { diarization: DIARIZATION_HASH }),
        perform: workingOnFiles(work, manifest, its?.manifest),
      });
      hosts.push(host);
      await host.start();
      return host;
    },
    end: async () => {
      await engine.stop();
      calls.close();
      directory.close();
      for (const host of hosts) host.stop();
    },
  };
}
