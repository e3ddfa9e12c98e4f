import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WebSocket } from "ws";
import { ffmpeg } from "../input/media/clips.js";
import { joined, silence, speech, wavOf } from "./audio.js";
import { dauysInTurn } from "./command-process.js";
import { eventually } from "./eventually.js";
import { temporaryFolder } from "./folders.js";
import { pace } from "./pace.js";
import type { ServiceProcess } from "./service-process.js";

/** Speech at 16 kHz, and the silence that ends it. */
export const SPEECH = joined(speech("kazakh-speech-commands/example_1.flac"), silence(0.6));

/** A message of any live protocol. */
export interface Message {
  readonly type: string;
  readonly code?: string;
  readonly variant?: string;
  readonly detail?: string;
  readonly description?: string;
  readonly text?: string;
  readonly duration?: number;
  readonly transcript?: string;
  readonly event?: string;
  readonly is_final?: boolean;
  readonly from_finalize?: boolean;
  readonly trigger?: string;
  readonly start?: number;
  readonly end?: number;
  readonly audio_seconds?: number;
  readonly credits_charged?: number;
  readonly channel?: { readonly alternatives: readonly { readonly transcript: string }[] };
}

export interface Heard {
  readonly messages: readonly Message[];
  readonly finals: readonly string[];
  readonly closeCode: number;
}

type Service = Pick<ServiceProcess, "url" | "key">;

/** Encodes the speech as a browser's recorder does, and as MP4. */
export async function compressedSpeech(): Promise<Readonly<Record<"webm" | "ogg" | "mp4", Buffer>>> {
  const folder = await temporaryFolder();
  const wav = join(folder, "source.wav");
  await writeFile(wav, wavOf(SPEECH, 16_000, 1));
  const opus = ["-map", "0:a", "-c:a", "libopus", "-b:a", "48k"];
  await ffmpeg([
    ...["-i", wav, ...opus, "-f", "webm", "-live", "1", join(folder, "a.webm")],
    ...[...opus, "-page_duration", "60000", join(folder, "a.ogg")],
    ...["-map", "0:a", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov", join(folder, "a.mp4")],
  ]);
  const [webm, ogg, mp4] = await Promise.all(
    ["a.webm", "a.ogg", "a.mp4"].map((name) => readFile(join(folder, name))),
  );
  return { webm: webm!, ogg: ogg!, mp4: mp4! };
}

export function open(service: Service, path: string): WebSocket {
  return new WebSocket(service.url.replace("http", "ws") + path, {
    headers: { authorization: `Bearer ${service.key}` },
  });
}

/** Sends messages and the end of the stream, and collects everything until the socket closes. */
export async function hear(
  service: Service,
  path: string,
  audio: readonly (Uint8Array | "finalize")[],
): Promise<Heard> {
  const socket = open(service, path);
  const messages: Message[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = once(socket, "close");
  await once(socket, "open");
  const [protocol] = path.split("?");
  const finalize = { "/v1/stream": "finalize", "/v1/listen": "Finalize" }[protocol!] ?? "ForceEndTurn";
  for (const message of audio)
    socket.send(message === "finalize" ? JSON.stringify({ type: finalize }) : message);
  socket.send(JSON.stringify({ type: protocol === "/v1/stream" ? "close" : "CloseStream" }));
  const [closeCode] = (await closed) as [number];
  const finals = messages.flatMap(({ type, text, channel, is_final, event, transcript }) => {
    if (type === "final") return [text!];
    if (event === "EndOfTurn") return [transcript!];
    return is_final === true ? [channel!.alternatives[0]!.transcript] : [];
  });
  return { messages, finals, closeCode };
}

export function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

export function doneOf({ messages }: Heard): { readonly seconds: number; readonly credits: number } {
  const { audio_seconds = 0, credits_charged = 0 } = messages.find(({ type }) => type === "done")!;
  return { seconds: audio_seconds, credits: credits_charged };
}

/** A reported balance may be a second old. */
const BALANCE_AGE_MS = 1_100;

/** Returns the credits of an organization; NaN while its work holds some. */
export async function balanceOf({ url, key }: Service): Promise<number> {
  const answer = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  const { balance, held } = (await answer.json()) as { readonly balance: number; readonly held: number };
  return held === 0 ? balance : Number.NaN;
}

/** Waits until no session holds credits, and until the balance that the service reports is new. */
export async function settled(service: Service): Promise<void> {
  await pace(BALANCE_AGE_MS);
  await eventually("charged", async () => !Number.isNaN(await balanceOf(service)));
}

/** Returns a key of a new organization. */
export async function newKey(
  { dataDir }: ServiceProcess,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const operate = async (...args: readonly string[]) => {
    const env = { DATA_DIR: dataDir, ...environment };
    const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], { env });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as { readonly id: string; readonly key: string };
  };
  const { id } = await operate("orgs", "create", "customer");
  return (await operate("keys", "create", "--org", id)).key;
}
