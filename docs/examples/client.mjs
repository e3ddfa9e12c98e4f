// Writes a text as speech to a WAV file, prints the time of each word, and transcribes the file: node
// client.mjs TEXT FILE
import { writeFile } from "node:fs/promises";
import { DauysClient } from "dauys/client";

const [text = "Қайырлы таң!", file = "tan.wav"] = process.argv.slice(2);
const client = new DauysClient({
  baseUrl: process.env.DAUYS_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.DAUYS_API_KEY,
});

const speech = await client.speak({ text, nfe: 16 }, { timestamps: true });
await writeFile(file, speech.wav);
for (const { word, start, end } of speech.words) console.log(start.toFixed(2), end.toFixed(2), word);

const transcript = await client.transcribe({ path: file });
console.log(transcript.text);
