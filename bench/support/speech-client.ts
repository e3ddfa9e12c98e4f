/** Audio as one client got it: when each part was there, and how much of it. */
export interface SpeechRun {
  /** From the request to the first sample. */
  readonly firstAudioMs: number;
  readonly totalMs: number;
  readonly audioSeconds: number;
  /** Times that a player which began with the first part had nothing left to play, and the longest of these gaps. */
  readonly underruns: number;
  readonly longestGapMs: number;
}

interface Part {
  readonly atMs: number;
  readonly samples: number;
}

const SAMPLE_RATE_HZ = 24_000;
/** Of every frame of the stream. */
const WAV_HEADER_BYTES = 44;

/** Reads `/v1/tts/stream` as a player would: a part is a sentence. */
export async function streamSentences(
  service: { readonly url: string; readonly key: string },
  body: { readonly text: string; readonly nfe: number; readonly voice?: string },
  askedAtMs: number = performance.now(),
): Promise<SpeechRun> {
  const parts: Part[] = [];
  let pending = new Uint8Array();
  for await (const bytes of post(service, "/v1/tts/stream", body)) {
    pending = joined(pending, bytes);
    while (pending.length >= 4) {
      const length = new DataView(pending.buffer, pending.byteOffset).getUint32(0);
      if (pending.length < 4 + length) break;
      parts.push({ atMs: performance.now(), samples: (length - WAV_HEADER_BYTES) / 2 });
      pending = pending.slice(4 + length);
    }
  }
  return runOf(parts, askedAtMs);
}

/** Reads `pcm` of `/v1/audio/speech` as a player would: a part is what one read brings. */
export async function streamPcm(
  service: { readonly url: string; readonly key: string },
  body: { readonly input: string; readonly voice?: string; readonly model?: string; readonly nfe?: number },
): Promise<SpeechRun> {
  const askedAtMs = performance.now();
  const parts: Part[] = [];
  for await (const bytes of post(service, "/v1/audio/speech", { ...body, response_format: "pcm" })) {
    parts.push({ atMs: performance.now(), samples: bytes.length / 2 });
  }
  return runOf(parts, askedAtMs);
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
