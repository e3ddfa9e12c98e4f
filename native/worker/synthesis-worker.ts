import { parentPort, workerData } from "node:worker_threads";
import { asSpeechError, SpeechError } from "../../src/domain/errors.js";
import { FlowMatching } from "../onnx/flow-matching.js";
import { readPackage, type SynthesizerManifest } from "../onnx/model-package.js";
import { PcmRing } from "../ring/pcm-ring.js";
import {
  type FromSynthesisWorker,
  PROTOCOL_VERSION,
  SYNTHESIS_CELL,
  type ToSynthesisWorker,
  type WorkerData,
} from "./protocol.js";

const port = parentPort!;
const data = workerData as WorkerData;
const cells = new Int32Array(data.cells);
const ring = PcmRing.attach(data.pcm!);

let model: FlowMatching;
let isFaultDue = false;
/** Jobs are made one after another; the engine sends the next when this one is spoken. */
let working: Promise<void> = Promise.resolve();

function post(message: FromSynthesisWorker): void {
  port.postMessage(message);
}

async function start(): Promise<void> {
  const startedAtMs = performance.now();
  const modelPackage = await readPackage<SynthesizerManifest>(data.modelFolder, "synthesis");
  const { manifest } = modelPackage;
  model = await FlowMatching.load(modelPackage, { intraOpThreads: data.intraOpThreads });
  const piece = await model.begin({
    modelId: manifest.id,
    voice: manifest.defaultVoice,
    spokenText: "сәлем.",
    speed: 1,
    nfe: 2,
    seed: 0,
  });
  while (!(await model.step(piece)));
  await model.vocode(piece);
  post({ type: "ready", protocolVersion: PROTOCOL_VERSION, warmupMs: performance.now() - startedAtMs });
}

async function speak({ jobId, job }: Extract<ToSynthesisWorker, { type: "speak" }>): Promise<void> {
  try {
    const piece = await model.begin(job);
    for (let isLast = false; !isLast; ) {
      if (Atomics.load(cells, SYNTHESIS_CELL.cancelledJob) === jobId) {
        throw new SpeechError("CANCELLED", "synthesis was cancelled");
      }
      isLast = await model.step(piece);
      if (isFaultDue) throwOutside(new Error("fault injected by a test"));
    }
    const pcm = await model.vocode(piece);
    if (ring.write(pcm) < pcm.length) {
      throw new SpeechError("INTERNAL", "a piece does not fit the ring of its worker");
    }
    post({ type: "pcm", jobId, sampleCount: pcm.length });
    post({ type: "spoken", jobId });
  } catch (error) {
    const { code, message } = asSpeechError(error);
    post({ type: "gave-up", jobId, code, message });
  }
}

/** Fails the thread, not the job: an error that no code of ours would catch. */
function throwOutside(error: Error): void {
  isFaultDue = false;
  setImmediate(() => {
    throw error;
  });
}

port.on("message", (message: ToSynthesisWorker) => {
  if (message.type === "speak") working = working.then(() => speak(message));
  else if (message.type === "fault") isFaultDue = data.allowFaults;
  else void working.then(() => port.close());
});

start().catch((error: unknown) => {
  const { code, message } = asSpeechError(error);
  post({ type: "failed", code, message });
  port.close();
});
