// Speaks a text in pieces, as an assistant would send it, over Deepgram's socket, and transcribes the result:
// node deepgram.mjs TEXT FILE
import { writeFile } from "node:fs/promises";
import { WebSocket } from "ws";

const [text = "Қайырлы таң! Бүгін күн ашық.", file = "tan.wav"] = process.argv.slice(2);
const base = process.env.DAUYS_URL ?? "http://127.0.0.1:8080";
const headers = { authorization: `Token ${process.env.DAUYS_API_KEY}` };

const sound = [];
const socket = new WebSocket(`${base.replace("http", "ws")}/v1/speak?encoding=mulaw`, { headers });
const isSpoken = new Promise((resolve, reject) => {
  socket.on("error", reject);
  socket.on("message", (data, isBinary) => {
    if (isBinary) return sound.push(data);
    const message = JSON.parse(data);
    if (message.type === "Flushed") resolve();
    else if (message.type === "Error") reject(new Error(message.description));
    else console.log(message.type);
  });
  socket.on("open", () => {
    // An assistant sends each piece as soon as it has it.
    for (const piece of text.match(/\s*\S+/g)) socket.send(JSON.stringify({ type: "Speak", text: piece }));
    socket.send(JSON.stringify({ type: "Flush" }));
  });
});
await isSpoken;
socket.send(JSON.stringify({ type: "Close" }));

const samples = Buffer.concat(sound);
const answer = await fetch(`${base}/v1/listen?encoding=mulaw&utterances=true`, {
  method: "POST",
  headers,
  body: samples,
});
const { results, err_msg } = await answer.json();
if (!answer.ok) throw new Error(err_msg);
for (const { start, transcript } of results.utterances) console.log(start.toFixed(2), transcript);
await writeFile(file, Buffer.concat([wavHeader(samples.length), samples]));

/** WAV header for mu-law at 8 kHz. */
function wavHeader(bytes) {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + bytes, 4);
  header.write("WAVEfmt ", 8);
  for (const [at, value] of [
    [16, 16],
    [24, 8_000],
    [28, 8_000],
    [40, bytes],
  ])
    header.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 7],
    [22, 1],
    [32, 1],
    [34, 8],
  ])
    header.writeUInt16LE(value, at);
  header.write("data", 36);
  return header;
}
