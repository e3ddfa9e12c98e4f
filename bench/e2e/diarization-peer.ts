import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SpeakerTurn } from "../../core/domain/diarization/speaker-turns.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { PyannoteManifest } from "../../native/models/pyannote/manifest.js";
import { Pyannote } from "../../native/models/pyannote/pyannote.js";
import type { BenchOptions } from "../bench-options.js";
import {
  DIARIZATION_CASES,
  DIARIZATION_REFERENCE,
  type DiarizationCase,
  EMBEDDED_SECONDS,
  REFERENCE_TURN_SECONDS,
  readDiarizationReference,
  speakersPcm,
  turnsBy,
} from "../support/diarization-reference.js";
import { installPeer, PEER_PACKAGE, type PeerModule } from "../support/peer-recognizer.js";

const PACKAGE = "test/fixtures/adapters/tiny-pyannote";
const RATE_HZ = 16_000;

/**
 * `npm run bench -- diarization-peer`: sherpa-onnx's pipeline and ours on the tiny diarization package, with
 * the same audio. Saves the peer's turns and embeddings, so that the tests need no peer. A smoke run compares
 * the results with the saved ones.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const peer = smoke ? null : await installPeer();
  const saved = smoke ? readDiarizationReference() : null;
  const model = await Pyannote.load(await readPackage<PyannoteManifest>(PACKAGE, "diarization"), {
    intraOpThreads: 1,
  });
  const turns: (readonly SpeakerTurn[])[] = [];
  for (const [index, each] of DIARIZATION_CASES.entries()) {
    const theirs = peer === null ? saved!.turns[index]! : peerTurns(peer, each);
    const ours = await turnsBy(model, each);
    const isSame =
      ours.length === theirs.length && ours.every(({ speaker }, at) => speaker === theirs[at]!.speaker);
    const apart = ours.flatMap(({ start, end }, at) => [
      Math.abs(start - (theirs[at]?.start ?? 0)),
      Math.abs(end - (theirs[at]?.end ?? 0)),
    ]);
    console.log(
      `${each.seconds} s, ${each.speakerCount ?? "unknown"} speakers: ${theirs.length} turns, ` +
        `${isSame ? "the same" : "not the same"}; times differ by at most ${Math.max(0, ...apart).toFixed(3)} s`,
    );
    turns.push(theirs);
  }
  await model.release();
  if (peer === null) return;
  const reference = { peer: PEER_PACKAGE, turns, embeddings: peerEmbeddings(peer) };
  await writeFile(DIARIZATION_REFERENCE, `${JSON.stringify(reference)}\n`);
  console.log(DIARIZATION_REFERENCE);
}

function peerTurns({ OfflineSpeakerDiarization }: PeerModule, each: DiarizationCase): readonly SpeakerTurn[] {
  const { least, gap } = REFERENCE_TURN_SECONDS;
  const diarizer = new OfflineSpeakerDiarization({
    segmentation: { pyannote: { model: join(PACKAGE, "segmentation.onnx") }, numThreads: 1 },
    embedding: { model: join(PACKAGE, "embedding.onnx"), numThreads: 1 },
    clustering: { numClusters: each.speakerCount ?? -1, threshold: each.threshold },
    ...{ minDurationOn: least, minDurationOff: gap },
  });
  const rounded = (second: number) => Number(second.toFixed(4));
  return diarizer
    .process(speakersPcm(each.seconds))
    .map(({ start, end, speaker }) => ({ start: rounded(start), end: rounded(end), speaker }));
}

function peerEmbeddings({ SpeakerEmbeddingExtractor }: PeerModule): readonly (readonly number[])[] {
  const extractor = new SpeakerEmbeddingExtractor({ model: join(PACKAGE, "embedding.onnx"), numThreads: 1 });
  const pcm = speakersPcm(34);
  return EMBEDDED_SECONDS.map(([start, end]) => {
    const stream = extractor.createStream();
    stream.acceptWaveform({ samples: pcm.slice(start * RATE_HZ, end * RATE_HZ), sampleRate: RATE_HZ });
    stream.inputFinished();
    return [...extractor.compute(stream)].map((value) => Number(value.toPrecision(6)));
  });
}
