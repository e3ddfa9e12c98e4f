import { readFile } from "node:fs/promises";
import { toInt16 } from "../../core/domain/audio/pcm.js";
import { runLive } from "../support/live-client.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { prepareSet } from "./prepare.js";
import { table } from "./report.js";
import { readSamples } from "./samples.js";

const SAMPLE_RATE_HZ = 16_000;
const LIVE_MESSAGE_SAMPLES = 1_600;
const ENOUGH_CREDITS = 1_000_000;

/** The service's results for one recording without speech. */
export interface NonSpeechRow {
  readonly kind: string;
  readonly seconds: number;
  /** Text of the file transcription; empty if correct. */
  readonly file: string;
  /** Texts of the live finals, joined. */
  readonly live: string;
}

/** Sends sounds without speech through the whole service with the shipped recogniser, as files and live. */
export async function evaluateNonSpeech(limit: number): Promise<NonSpeechRow[]> {
  const folder = prepareSet("nonspeech");
  const lines = (await readFile(`${folder}index.jsonl`, "utf8")).split("\n").filter((line) => line !== "");
  const service = await startServiceProcess();
  try {
    await creditDevelopment(service, ENOUGH_CREDITS);
    const rows: NonSpeechRow[] = [];
    for (const line of lines.slice(0, limit)) {
      const { file, kind } = JSON.parse(line) as { file: string; kind: string };
      const pcm = toInt16(await readSamples(folder + file, SAMPLE_RATE_HZ));
      rows.push({
        kind,
        seconds: pcm.length / SAMPLE_RATE_HZ,
        file: await transcribe(service, await readFile(folder + file)),
        live: await listen(service, pcm),
      });
    }
    return rows;
  } finally {
    await service.stop();
  }
}

/** Renders the rows as Markdown: the number of characters transcribed for each sound. */
export function nonSpeechTable(rows: readonly NonSpeechRow[]): string {
  const cells = rows.map(({ kind, seconds, file, live }) => [
    kind,
    seconds.toFixed(0),
    `${file.length}${quoted(file)}`,
    `${live.length}${quoted(live)}`,
  ]);
  const sum = (of: (row: NonSpeechRow) => number) => String(rows.reduce((total, row) => total + of(row), 0));
  const total = [
    "all",
    sum((row) => row.seconds),
    sum(({ file }) => file.length),
    sum(({ live }) => live.length),
  ];
  const head = ["sound without speech", "seconds", "file: characters", "live: characters"];
  return table(head, [...cells, total]);
}

function quoted(text: string): string {
  return text === "" ? "" : ` (${text})`;
}

async function transcribe(service: ServiceProcess, wav: Buffer): Promise<string> {
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/octet-stream" },
    body: new Uint8Array(wav),
  });
  const body = (await answer.json()) as { text?: string; detail?: string };
  if (!answer.ok) throw new Error(`Cannot transcribe: ${answer.status} ${body.detail}`);
  return body.text ?? "";
}

async function listen(service: ServiceProcess, pcm: Int16Array): Promise<string> {
  const run = await runLive({
    url: service.url,
    key: service.key,
    pcm,
    messageSamples: LIVE_MESSAGE_SAMPLES,
    isPaced: false,
  });
  const finals = run.received.flatMap(({ message }) => (message.type === "final" ? [message.text] : []));
  return finals.filter((text) => text !== "").join(" ");
}
