interface Sample {
  readonly curl: string;
  readonly client: string;
}

const KEY = '-H "Authorization: Bearer $DAUYS_API_KEY"';

// What the page does, as others would send it to the service at `origin`. Each sample is a whole program.

export function speakSamples(origin: string, request: object): Sample {
  return {
    curl: `curl ${origin}/v1/tts ${KEY} \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(request))} -o speech.wav`,
    client: `import { writeFile } from "node:fs/promises";
${opening(origin)}

for await (const { sequence, wav } of dauys.speakStream(${JSON.stringify(request, null, 2)})) {
  await writeFile(\`sentence-\${sequence}.wav\`, wav);
}`,
  };
}

export function transcribeSamples(
  origin: string,
  source: { readonly name: string } | { readonly url: string },
): Sample {
  const isAddress = "url" in source;
  const given = isAddress ? { url: source.url } : { path: source.name };
  const query = new URLSearchParams({ timestamps: "true", ...(isAddress && { url: source.url }) });
  const body = isAddress
    ? ""
    : ` \\\n  -H "Content-Type: application/octet-stream" \\\n  --data-binary ${quoted(`@${source.name}`)}`;
  return {
    curl: `curl -X POST ${quoted(`${origin}/v1/transcribe?${query}`)} \\\n  ${KEY}${body}`,
    client: `${opening(origin)}

const { text, words } = await dauys.transcribe(
  ${JSON.stringify(given)},
  { timestamps: true },
);
console.log(text, words);`,
  };
}

export function listenSamples(origin: string): Sample {
  return {
    curl: `# A token opens one socket within a minute.
curl -X POST ${origin}/v1/stream/token ${KEY}
# Send 16-bit mono PCM at 16 kHz as binary messages to
# ${origin.replace(/^http/, "ws")}/v1/stream?token=…`,
    client: `// arecord -t raw -f S16_LE -r 16000 | node listen.js
${opening(origin)}

const live = dauys.live();
process.stdin.on("data", (pcm) => live.send(pcm));
process.stdin.on("end", () => live.close());
for await (const { type, text } of live) {
  console.log(type, text);
}`,
  };
}

function opening(origin: string): string {
  return `import { DauysClient } from "dauys/client";

const dauys = new DauysClient({
  baseUrl: ${JSON.stringify(origin)},
  apiKey: process.env.DAUYS_API_KEY,
});`;
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
