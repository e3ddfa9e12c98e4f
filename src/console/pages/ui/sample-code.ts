/** The same request in several languages. */
export interface SampleCode {
  readonly curl: string;
  /** Code for Node.js, using the client library. */
  readonly client: string;
  readonly python: string;
}

const KEY = '-H "Authorization: Bearer $DAUYS_API_KEY"';
const PYTHON_KEY = `"Authorization": "Bearer " + os.environ["DAUYS_API_KEY"]`;

// Requests of the playground, for the service at `origin`. Each sample is a complete program.

export function speakSamples(origin: string, request: object): SampleCode {
  return {
    curl: `curl ${origin}/v1/tts ${KEY} \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(request))} -o speech.wav`,
    client: `import { writeFile } from "node:fs/promises";
${opening(origin)}

for await (const { sequence, wav } of dauys.speakStream(${JSON.stringify(request, null, 2)})) {
  await writeFile(\`sentence-\${sequence}.wav\`, wav);
}`,
    // JSON made of numbers, strings, lists and maps is also valid Python.
    python: `import json, os, urllib.request

body = ${JSON.stringify(request, null, 4)}
request = urllib.request.Request(
    "${origin}/v1/tts",
    data=json.dumps(body).encode(),
    headers={${PYTHON_KEY}, "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as answer, open("speech.wav", "wb") as file:
    file.write(answer.read())`,
  };
}

interface TranscriptionOptions {
  readonly model?: string;
  readonly hotWords?: readonly string[];
  /** Whether to request readable text. */
  readonly display?: boolean;
  /** Speakers of a recording. */
  readonly diarize?: boolean;
}

export function transcribeSamples(
  origin: string,
  source: { readonly name: string } | { readonly url: string },
  options: TranscriptionOptions = {},
): SampleCode {
  const isAddress = "url" in source;
  const [text, words] = options.display === true ? ["display_text", "display_words"] : ["text", "words"];
  const given = isAddress ? { url: source.url } : { path: source.name };
  const query = new URLSearchParams({
    timestamps: "true",
    ...parametersOf(options),
    ...(isAddress && { url: source.url }),
  });
  const body = isAddress
    ? ""
    : ` \\\n  -H "Content-Type: application/octet-stream" \\\n  --data-binary ${quoted(`@${source.name}`)}`;
  const address = `${origin}/v1/transcribe?${query}`;
  return {
    curl: `curl -X POST ${quoted(address)} \\\n  ${KEY}${body}`,
    client: `${opening(origin)}

const { ${text}, ${words} } = await dauys.transcribe(
  ${JSON.stringify(given)},
  ${JSON.stringify({ timestamps: true, ...clientOptionsOf(options) })},
);
console.log(${text}, ${words});`,
    python: `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(address)},
    ${
      isAddress
        ? `method="POST",\n    headers={${PYTHON_KEY}},`
        : `data=open(${JSON.stringify(source.name)}, "rb").read(),\n    headers={${PYTHON_KEY}, "Content-Type": "application/octet-stream"},`
    }
)
with urllib.request.urlopen(request) as answer:
    transcript = json.load(answer)
print(transcript["${text}"])`,
  };
}

export function listenSamples(origin: string, options: TranscriptionOptions = {}): SampleCode {
  const socket = origin.replace(/^http/, "ws");
  const parameters = new URLSearchParams(parametersOf(options)).toString();
  const query = parameters === "" ? "" : `?${parameters}`;
  return {
    curl: `# A token opens one socket within a minute.
curl -X POST ${origin}/v1/stream/token ${KEY}
# Send 16-bit mono PCM at 16 kHz as binary messages to
# ${socket}/v1/stream?token=…${query.replace("?", "&")}`,
    client: `// arecord -t raw -f S16_LE -r 16000 | node listen.js
${opening(origin)}

const live = dauys.live(${query === "" ? "" : JSON.stringify(clientOptionsOf(options))});
process.stdin.on("data", (pcm) => live.send(pcm));
process.stdin.on("end", () => live.close());
${clientLoop(options)}`,
    python: `# pip install websockets
# arecord -t raw -f S16_LE -r 16000 | python listen.py
import asyncio, json, os, sys
from websockets.asyncio.client import connect

async def send(socket):
    loop = asyncio.get_running_loop()
    while pcm := await loop.run_in_executor(None, sys.stdin.buffer.read, 2560):
        await socket.send(pcm)
    await socket.send(json.dumps({"type": "close"}))

async def main():
    headers = {${PYTHON_KEY}}
    async with connect(${JSON.stringify(`${socket}/v1/stream${query}`)}, additional_headers=headers) as socket:
        sending = asyncio.create_task(send(socket))
        async for message in socket:
            result = json.loads(message)
            print(result["type"], ${pythonText(options)})
        await sending

asyncio.run(main())`,
  };
}

function clientLoop({ display = false }: TranscriptionOptions): string {
  if (display) {
    return `for await (const result of live) {
  console.log(result.type, result.type === "final" ? result.display_text : result.text);
}`;
  }
  return `for await (const { type, text } of live) {
  console.log(type, text);
}`;
}

function pythonText({ display = false }: TranscriptionOptions): string {
  const text = 'result.get("text", "")';
  return display ? `result.get("display_text", ${text})` : text;
}

function parametersOf({
  model,
  hotWords = [],
  display = false,
  diarize = false,
}: TranscriptionOptions): Record<string, string> {
  return {
    ...(model !== undefined && { model }),
    ...(hotWords.length > 0 && { hotwords: hotWords.join(",") }),
    ...(display && { display: "true" }),
    ...(diarize && { diarize: "true" }),
  };
}

function clientOptionsOf({
  model,
  hotWords = [],
  display = false,
  diarize = false,
}: TranscriptionOptions): TranscriptionOptions {
  return {
    ...(display && { display }),
    ...(diarize && { diarize }),
    ...(model !== undefined && { model }),
    ...(hotWords.length > 0 && { hotWords }),
  };
}

function opening(origin: string): string {
  return `import { DauysClient } from "dauys/client";

const dauys = new DauysClient({
  baseUrl: ${JSON.stringify(origin)},
  apiKey: process.env.DAUYS_API_KEY,
});`;
}

/** Quotes text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
