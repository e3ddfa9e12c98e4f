// Transcribes PCM from standard input as it arrives: 16-bit little-endian, mono, 16 kHz.
import { DauysClient } from "dauys/client";

const client = new DauysClient({
  baseUrl: process.env.DAUYS_URL ?? "http://127.0.0.1:8080",
  apiKey: process.env.DAUYS_API_KEY,
});

const live = client.live();
process.stdin.on("data", (pcm) => live.send(pcm));
process.stdin.on("end", () => live.close());
// The next result replaces a partial; a final never changes. The loop ends once all audio has been
// transcribed.
for await (const { type, text } of live) {
  if (type === "final") console.log(text);
  else if (process.stderr.isTTY) process.stderr.write(`\r${text}`);
}
