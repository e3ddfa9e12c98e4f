// Transcribes raw 16 kHz f32 files with the recogniser of this repository (greedy CTC).
//   node roundtrip.mjs LIST.json RECOGNIZER_DIR [PATH_OF_ONNXRUNTIME_NODE]   -> JSON array of transcripts on stdout
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [list, recognizer, runtime = "onnxruntime-node"] = process.argv.slice(2);
const ort = createRequire(import.meta.url)(runtime);
const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
const stream = await ort.InferenceSession.create(path.join(recognizer, "stream.onnx"), options);
const full = await ort.InferenceSession.create(path.join(recognizer, "full.onnx"), options);
const vocabulary = JSON.parse(readFileSync(path.join(recognizer, "vocabulary.json"), "utf8"));
const symbols = Array.isArray(vocabulary) ? vocabulary : (vocabulary.symbols ?? vocabulary.tokens ?? vocabulary.vocabulary);
const width = Number(stream.inputMetadata.find(({ name }) => name === "state").shape[1]);
const BLOCK = 640, TAIL = 16000 * 0.32;

const transcripts = [];
for (const file of JSON.parse(readFileSync(list, "utf8"))) {
  const bytes = readFileSync(file);
  const speech = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const pcm = new Float32Array(Math.ceil((speech.length + TAIL) / BLOCK) * BLOCK);
  pcm.set(speech);
  const first = await stream.run({
    pcm: new ort.Tensor("float32", pcm, [1, pcm.length]),
    state: new ort.Tensor("float32", new Float32Array(width), [1, width]),
  });
  const steps = first.encoded.dims[1];
  const mask = new ort.Tensor("float32", new Float32Array(steps).fill(1), [1, steps]);
  const { log_probs: scores } = await full.run({ encoded: first.encoded, mask });
  const classes = scores.dims[2];
  let text = "", last = 0;
  for (let i = 0; i < steps; i++) {
    let best = 0;
    for (let k = 1; k < classes; k++) if (scores.data[i * classes + k] > scores.data[i * classes + best]) best = k;
    if (best !== last && best !== 0) text += symbols[best];
    last = best;
  }
  transcripts.push(text.trim());
}
process.stdout.write(JSON.stringify(transcripts));
