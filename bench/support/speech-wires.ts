import { WebSocket } from "ws";
import type { ServiceProcess } from "./service-process.js";

const NFE = 16;
/** Length and WAV header of a frame of `/v1/tts/stream`. */
const FRAME_HEAD_BYTES = 4 + 44;

type Service = Pick<ServiceProcess, "url" | "key">;

/** A protocol that speaks a text. */
export interface SpeechWire {
  readonly name: string;
  /** Speaks a text to its end. @returns the time to its first audio in milliseconds */
  speak(text: string): Promise<number>;
  close(): void;
}

/**
 * Returns every protocol that speaks, ours first, all with the same number of solver steps and raw samples.
 */
export async function speechWires(service: Service): Promise<readonly SpeechWire[]> {
  const posted = (name: string, path: string, toBody: (text: string) => object, headBytes = 0) => ({
    name,
    speak: (text: string) => firstAudioOf(service, path, toBody(text), headBytes),
    close: () => {},
  });
  return [
    posted(
      "/v1/tts/stream",
      "/v1/tts/stream?frames=chunks",
      (text) => ({ text, nfe: NFE }),
      FRAME_HEAD_BYTES,
    ),
    posted("/v1/audio/speech", "/v1/audio/speech", (input) => ({
      ...{ model: "tts-1", input, nfe: NFE, response_format: "pcm" },
    })),
    posted("POST /v1/speak", "/v1/speak?container=none", (text) => ({ text })),
    await openSpeakSocket(service, DEEPGRAM_SOCKET),
    await openSpeakSocket(service, OWN_SOCKET),
  ];
}

/** @param headBytes bytes of the response before its first sample */
async function firstAudioOf(
  { url, key }: Service,
  path: string,
  body: object,
  headBytes: number,
): Promise<number> {
  const askedAtMs = performance.now();
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok || answer.body === null)
    throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  let received = 0;
  let firstMs = Number.NaN;
  for await (const bytes of answer.body) {
    received += (bytes as Uint8Array).length;
    if (Number.isNaN(firstMs) && received > headBytes) firstMs = performance.now() - askedAtMs;
  }
  return firstMs;
}

interface SpeakSocket {
  readonly path: string;
  readonly messages: (text: string) => readonly object[];
  readonly end: string;
  readonly failures: readonly string[];
}

const DEEPGRAM_SOCKET: SpeakSocket = {
  path: "/v1/speak",
  messages: (text) => [{ type: "Speak", text }, { type: "Flush" }],
  end: "Flushed",
  failures: ["Error", "Warning"],
};

const OWN_SOCKET: SpeakSocket = {
  path: `/v1/tts/live?nfe=${NFE}`,
  messages: (text) => [{ type: "text", text }, { type: "flush" }],
  end: "flushed",
  failures: ["error", "warning"],
};

/** Opens a socket that agents keep open, so its handshake does not count. */
async function openSpeakSocket(
  { url, key }: Service,
  { path, messages, end, failures }: SpeakSocket,
): Promise<SpeechWire> {
  const socket = new WebSocket(url.replace("http", "ws") + path, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  const speak = (text: string) =>
    new Promise<number>((resolve, reject) => {
      const askedAtMs = performance.now();
      let firstMs = Number.NaN;
      const onMessage = (data: Buffer, isBinary: boolean) => {
        if (isBinary) {
          if (Number.isNaN(firstMs)) firstMs = performance.now() - askedAtMs;
          return;
        }
        const { type } = JSON.parse(String(data)) as { readonly type: string };
        if (type !== end && !failures.includes(type)) return;
        socket.off("message", onMessage);
        if (type === end) resolve(firstMs);
        else reject(new Error(`${path} sent ${data}`));
      };
      socket.on("message", onMessage);
      for (const message of messages(text)) socket.send(JSON.stringify(message));
    });
  return { name: `${path.split("?")[0]} (WebSocket)`, speak, close: () => socket.close() };
}
