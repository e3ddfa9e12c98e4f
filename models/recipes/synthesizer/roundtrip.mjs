// Transcribes raw 16 kHz f32 files with the recogniser of this repository (greedy CTC), by the service's own code: `npm run build` first.
//   node roundtrip.mjs LIST.json RECOGNIZER_DIR   -> JSON array of transcripts on stdout
import { readFileSync } from "node:fs";
import { loadRecognizerParts } from "../../../dist/bench/evaluate/acoustics.js";
import { listenerOf } from "../../../dist/bench/evaluate/synthesis.js";

const [list, folder] = process.argv.slice(2);
const recognizer = await loadRecognizerParts(folder);
const listen = listenerOf(recognizer, 16_000);
const transcripts = [];
for (const file of JSON.parse(readFileSync(list, "utf8"))) {
  const bytes = readFileSync(file);
  const pcm = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  transcripts.push((await listen(pcm)).greedy);
}
await recognizer.graphs.release();
process.stdout.write(JSON.stringify(transcripts));
