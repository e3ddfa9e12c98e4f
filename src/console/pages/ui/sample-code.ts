interface Sample {
  readonly curl: string;
  readonly client: string;
}

const KEY = '-H "Authorization: Bearer $DAUYS_API_KEY"';

export function speakSamples(request: object): Sample {
  const json = JSON.stringify(request);
  const origin = location.origin;
  return {
    curl: `curl ${origin}/v1/tts ${KEY} \\
  -H "Content-Type: application/json" \\
  -d ${quoted(json)} -o speech.wav`,
    client: `${opening(origin)}

for await (const { wav } of dauys.speakStream(${JSON.stringify(request, null, 2)})) {
  player.push(wav);
}`,
  };
}

export function transcribeSamples(source: { readonly name: string } | { readonly url: string }): Sample {
  const origin = location.origin;
  if ("url" in source) {
    const query = new URLSearchParams({ timestamps: "true", url: source.url });
    return {
      curl: `curl -X POST ${quoted(`${origin}/v1/transcribe?${query}`)} \\\n  ${KEY}`,
      client: `${opening(origin)}

const { text, words } = await dauys.transcribe(
  { url: ${JSON.stringify(source.url)} },
  { timestamps: true },
);`,
    };
  }
  return {
    curl: `curl "${origin}/v1/transcribe?timestamps=true" ${KEY} \\
  -H "Content-Type: application/octet-stream" \\
  --data-binary ${quoted(`@${source.name}`)}`,
    client: `${opening(origin)}

const { text, words } = await dauys.transcribe(file, { timestamps: true });`,
  };
}

export function listenSamples(): Sample {
  const origin = location.origin;
  return {
    curl: `# A token opens one socket within a minute.
curl -X POST ${origin}/v1/stream/token ${KEY}
# Send 16-bit mono PCM at 16 kHz as binary messages to
# ${origin.replace(/^http/, "ws")}/v1/stream?token=…`,
    client: `${opening(origin)}

const live = dauys.live();
microphone.onaudio = (pcm) => live.send(pcm);
for await (const result of live) {
  console.log(result.type, result.text);
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
