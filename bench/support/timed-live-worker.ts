// A live worker without a recogniser, for benches of the code around it: sends a partial for every 100 ms of
// audio.
import { parentPort, workerData } from "node:worker_threads";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import {
  type FromLiveWorker,
  LIVE_CELL,
  type LiveWorkerAnswer,
  PROTOCOL_VERSION,
  type ToLiveWorker,
  type WorkerData,
} from "../../native/threads/protocol.js";

const ANSWER_SAMPLES = 1_600;
const IDLE_SAMPLES = 32_000;

interface StubTrack {
  readonly session: number;
  readonly epoch: number;
  ring: PcmRing;
  answeredSample: number;
  releasedSample: number;
}

const port = parentPort!;
const cells = new Int32Array((workerData as WorkerData).cells);
const tracks = new Map<number, StubTrack>();
let isStopping = false;

function post(message: FromLiveWorker): void {
  port.postMessage(message);
}

let answers: LiveWorkerAnswer[] = [];

function postAnswers(): void {
  if (answers.length > 0) post({ type: "answers", answers });
  answers = [];
}

port.on("message", (message: ToLiveWorker) => {
  if (message.type === "open") {
    const ring = PcmRing.attach(message.ring);
    tracks.set(message.session, { ...message, ring, answeredSample: 0, releasedSample: 0 });
  } else if (message.type === "ring") {
    const track = tracks.get(message.session);
    if (track !== undefined) track.ring = PcmRing.attach(message.ring);
  } else if (message.type === "close") tracks.delete(message.session);
  else if (message.type === "finish") {
    const track = tracks.get(message.session);
    if (track !== undefined) answers.push({ type: "finished", session: track.session, epoch: track.epoch });
  } else if (message.type === "stop") isStopping = true;
  Atomics.add(cells, LIVE_CELL.bell, 1);
  Atomics.notify(cells, LIVE_CELL.bell);
});

function answer(track: StubTrack): void {
  const { written } = track.ring;
  if (written - track.answeredSample < ANSWER_SAMPLES) return;
  const { session, epoch } = track;
  track.ring.cursor = written;
  track.answeredSample = written;
  answers.push({
    type: "partial",
    session,
    epoch,
    utterance: 0,
    text: "ә",
    startSample: 0,
    endSample: written,
  });
  if (written - track.releasedSample < IDLE_SAMPLES) return;
  track.releasedSample = written;
  answers.push({ type: "idle", session, epoch, resume: { sample: written, isMidSpeech: false } });
}

post({ type: "ready", protocolVersion: PROTOCOL_VERSION, warmupMs: 0 });
while (!isStopping) {
  const rung = Atomics.load(cells, LIVE_CELL.bell);
  for (const track of tracks.values()) answer(track);
  postAnswers();
  // Let messages arrive before it sleeps.
  await new Promise((resolve) => setImmediate(resolve));
  await Atomics.waitAsync(cells, LIVE_CELL.bell, rung).value;
}
port.close();
