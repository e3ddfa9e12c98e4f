import { execFile } from "node:child_process";
import { createReadStream, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SENTENCE = "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.";
/** Length of the file, five seconds below the longest accepted one. */
const WHOLE_SECONDS = 2 * 3_600 - 5;
const SMOKE_SECONDS = 30;
/** At 64 kbit/s, two hours are a file of 58 MB. */
const BIT_RATE = "64k";
const POLL_MS = 50;

interface Peaks {
  serviceBytes: number;
  decoderBytes: number;
  togetherBytes: number;
}

/**
 * `npm run bench -- long-file`: two hours of speech in one MP3, and the memory that service and decoder use
 * for it. `FILE_WORKERS` is passed to the service (default 1).
 */
export async function run(options: BenchOptions): Promise<void> {
  const seconds = options.smoke ? SMOKE_SECONDS : WHOLE_SECONDS;
  const folder = await mkdtemp(join(tmpdir(), "dauys-long-file-"));
  const workers = process.env["FILE_WORKERS"] ?? "1";
  const service = await startServiceProcess({ FILE_WORKERS: workers });
  try {
    const file = await makeFile(service, folder, seconds);
    const idleBytes = service.residentBytes();
    const peaks: Peaks = { serviceBytes: 0, decoderBytes: 0, togetherBytes: 0 };
    const timer = setInterval(() => watch(service, peaks), POLL_MS);
    const cpuBefore = service.cpuSeconds();
    const startedAtMs = performance.now();
    const answer = await transcribe(service, file).finally(() => clearInterval(timer));
    const figures = {
      audioSeconds: answer.audio_seconds,
      chunks: answer.chunks,
      characters: answer.text.length,
      wallSeconds: (performance.now() - startedAtMs) / 1_000,
      serviceCpuSeconds: service.cpuSeconds() - cpuBefore,
      idleBytes,
      ...peaks,
    };
    console.table(figures);
    const parameters = {
      seconds,
      workers,
      bitRate: BIT_RATE,
      fileBytes: statSync(file).size,
      pollMs: POLL_MS,
    };
    if (!options.smoke) console.log(await saveResult("long-file", { parameters, figures }));
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes a file of a sentence that the service synthesizes, repeated. */
async function makeFile(service: ServiceProcess, folder: string, seconds: number): Promise<string> {
  const spoken = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
    body: JSON.stringify({ text: SENTENCE, nfe: 16 }),
  });
  if (!spoken.ok) throw new Error(`/v1/tts answered ${spoken.status}`);
  const sentence = join(folder, "sentence.wav");
  await writeFile(sentence, new Uint8Array(await spoken.arrayBuffer()));
  const file = join(folder, "long.mp3");
  const input = ["-stream_loop", "-1", "-i", sentence];
  const output = ["-t", String(seconds), "-c:a", "libmp3lame", "-b:a", BIT_RATE, file];
  await promisify(execFile)("ffmpeg", ["-nostdin", "-v", "error", ...input, ...output]);
  return file;
}

/** Uses `node:http`, because `fetch` gives up on a response after five minutes. */
async function transcribe(
  service: ServiceProcess,
  file: string,
): Promise<{ readonly text: string; readonly audio_seconds: number; readonly chunks: number }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${service.url}/v1/transcribe`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-length": statSync(file).size },
    });
    outgoing.once("error", reject);
    outgoing.once("response", async (response) => {
      const body = await text(response);
      if (response.statusCode === 200) resolve(JSON.parse(body));
      else reject(new Error(`/v1/transcribe answered ${response.statusCode}: ${body}`));
    });
    createReadStream(file).pipe(outgoing);
  });
}

function watch(service: ServiceProcess, peaks: Peaks): void {
  const serviceBytes = service.residentBytes();
  const decoderBytes = decoderResidentBytes(service.child.pid!);
  peaks.serviceBytes = Math.max(peaks.serviceBytes, serviceBytes);
  peaks.decoderBytes = Math.max(peaks.decoderBytes, decoderBytes);
  peaks.togetherBytes = Math.max(peaks.togetherBytes, serviceBytes + decoderBytes);
}

/** Returns the resident memory of a service's decoder processes. */
function decoderResidentBytes(servicePid: number): number {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.reduce((total, id) => {
    try {
      const status = readFileSync(`/proc/${id}/status`, "utf8");
      const isDecoder = /^Name:\tffmpeg$/m.test(status) && status.includes(`\nPPid:\t${servicePid}\n`);
      return isDecoder ? total + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024 : total;
    } catch {
      // The process ended between the two reads.
      return total;
    }
  }, 0);
}
