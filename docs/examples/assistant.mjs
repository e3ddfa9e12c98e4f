// Speaks text from standard input as it arrives, and writes what a listener hears until an interruption:
// node assistant.mjs FILE [SECONDS]
import { writeFile } from "node:fs/promises";
import { DauysClient } from "dauys/client";

const [file = "answer.wav", interruptAfter = "Infinity"] = process.argv.slice(2);
const client = new DauysClient({
  baseUrl: process.env.DAUYS_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.DAUYS_API_KEY,
});

const speech = client.speakLive();
let answer = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  answer += piece;
  speech.write(piece);
});
// A loop over frames may end only after the last text.
process.stdin.on("end", () =>
  speech.flush().then(
    () => speech.close(),
    () => {},
  ),
);

const WAV_HEADER_BYTES = 44;
const frames = [];
let seconds = 0;
let interruption = null;
for await (const { text, wav, startSeconds, durationSeconds } of speech) {
  if (text !== undefined) console.log(startSeconds.toFixed(2), text.trim());
  frames.push(wav);
  seconds += durationSeconds;
  if (seconds < Number(interruptAfter) || interruption !== null) continue;
  // A player reports how much was heard; here it is a number.
  interruption = speech.cancel({ playedSeconds: Number(interruptAfter) });
  speech.close();
}
if (interruption !== null) {
  const { heard } = await interruption;
  console.log("heard:", [...answer].slice(0, heard?.characters).join(""));
}
// All frames are WAVs of the same format: the first header, with the length of all samples.
const samples = Buffer.concat(frames.map((wav) => wav.subarray(WAV_HEADER_BYTES)));
const header = Buffer.from(frames[0].subarray(0, WAV_HEADER_BYTES));
header.writeUInt32LE(WAV_HEADER_BYTES - 8 + samples.length, 4);
header.writeUInt32LE(samples.length, WAV_HEADER_BYTES - 4);
await writeFile(file, Buffer.concat([header, samples]));
