/** Audio as received by one client: arrival and length of each part. */
export interface SpeechRun {
  /** Time from the request to the first sample. */
  readonly firstAudioMs: number;
  /** Time from the request to the first audible sample. */
  readonly firstSoundMs: number;
  readonly totalMs: number;
  readonly audioSeconds: number;
  /** Number of times that a player that starts with the first part would run dry, and the longest gap. */
  readonly underruns: number;
  readonly longestGapMs: number;
}

interface Part {
  readonly atMs: number;
  readonly samples: number;
  readonly isSilent: boolean;
}

/** Amplitude below which audio is silence: -60 dB of full scale. */
const AUDIBLE = 32;

const SAMPLE_RATE_HZ = 24_000;
/** Length of the WAV header of every frame of the stream. */
const WAV_HEADER_BYTES = 44;

/** Reads `/v1/tts/stream` as a player would: a part is a sentence, or as much of one as is ready. */
export async function streamSentences(
  service: { readonly url: string; readonly key: string },
  body: { readonly text: string; readonly nfe: number; readonly voice?: string; readonly seed?: number },
  {
    askedAtMs = performance.now(),
    frames = "sentences",
  }: { readonly askedAtMs?: number; readonly frames?: "sentences" | "chunks" } = {},
): Promise<SpeechRun> {
  const parts: Part[] = [];
  let pending = new Uint8Array();
  const path = frames === "chunks" ? "/v1/tts/stream?frames=chunks" : "/v1/tts/stream";
  for await (const bytes of post(service, path, body)) {
    const atMs = performance.now();
    pending = joined(pending, bytes);
    while (pending.length >= 4) {
      const length = new DataView(pending.buffer, pending.byteOffset).getUint32(0);
      if (pending.length < 4 + length) break;
      parts.push(partOf(pending.subarray(4 + WAV_HEADER_BYTES, 4 + length), atMs));
      pending = pending.slice(4 + length);
    }
  }
  return runOf(parts, askedAtMs);
}

/** Reads `pcm` from `/v1/audio/speech` as a player would; each read yields one part. */
export async function streamPcm(
  service: { readonly url: string; readonly key: string },
  body: {
    readonly input: string;
    readonly voice?: string;
    readonly model?: string;
    readonly nfe?: number;
    readonly seed?: number;
  },
): Promise<SpeechRun> {
  const askedAtMs = performance.now();
  const parts: Part[] = [];
  for await (const bytes of post(service, "/v1/audio/speech", { ...body, response_format: "pcm" })) {
    parts.push(partOf(bytes, performance.now()));
  }
  return runOf(parts, askedAtMs);
}

/** @param pcm 16-bit, little-endian; a read may end within a sample */
function partOf(pcm: Uint8Array, atMs: number): Part {
  const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  let isSilent = true;
  for (let i = 0; i + 1 < pcm.length && isSilent; i += 2) {
    isSilent = Math.abs(view.getInt16(i, true)) < AUDIBLE;
  }
  return { atMs, samples: pcm.length / 2, isSilent };
}

async function* post(
  { url, key }: { readonly url: string; readonly key: string },
  path: string,
  body: object,
): AsyncGenerator<Uint8Array, void, undefined> {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok || answer.body === null)
    throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  for await (const bytes of answer.body) yield bytes as Uint8Array;
}

function runOf(parts: readonly Part[], askedAtMs: number): SpeechRun {
  const startedAtMs = parts[0]?.atMs ?? Number.NaN;
  let [samples, pausedMs, underruns, longestGapMs] = [0, 0, 0, 0];
  for (const part of parts) {
    const dryAtMs = startedAtMs + pausedMs + (samples / SAMPLE_RATE_HZ) * 1_000;
    if (samples > 0 && part.atMs > dryAtMs) {
      underruns++;
      longestGapMs = Math.max(longestGapMs, part.atMs - dryAtMs);
      pausedMs += part.atMs - dryAtMs;
    }
    samples += part.samples;
  }
  return {
    firstAudioMs: startedAtMs - askedAtMs,
    firstSoundMs: (parts.find(({ isSilent }) => !isSilent)?.atMs ?? Number.NaN) - askedAtMs,
    totalMs: performance.now() - askedAtMs,
    audioSeconds: samples / SAMPLE_RATE_HZ,
    underruns,
    longestGapMs,
  };
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}
