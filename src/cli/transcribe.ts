import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import { type Command, CommandError, type CommandInput, onlyArgument, printLine } from "./command.js";
import {
  readAll,
  SERVICE_OPTION_HELP,
  SERVICE_OPTIONS,
  ServiceClient,
  type ServicePost,
} from "./service-client.js";

export const transcribeCommand: Command = {
  usage: "transcribe FILE [--timestamps]",
  summary:
    "Writes down a recording; FILE may be an http(s) address that the service fetches, or - for standard input.",
  options: { ...SERVICE_OPTIONS, timestamps: { type: "boolean" } },
  optionHelp: [...SERVICE_OPTION_HELP, "--timestamps  one line for each run of speech, with its times"],
  run: transcribe,
};

interface Transcription {
  readonly text: string;
  readonly segments?: readonly { readonly text: string; readonly start: number; readonly end: number }[];
}

async function transcribe(input: CommandInput): Promise<void> {
  const source = onlyArgument(input, "FILE");
  const client = await ServiceClient.open(input);
  const query = new URLSearchParams();
  if (input.options.isSet("timestamps")) query.set("timestamps", "true");
  const response = await client.post(await audioRequest(source, query));
  const body = (await readAll(response)).toString("utf8");
  if (input.options.isSet("json")) return printLine(body.trim());
  const transcription = JSON.parse(body) as Transcription;
  for (const segment of transcription.segments ?? []) {
    printLine(`[${clock(segment.start)} - ${clock(segment.end)}] ${segment.text}`);
  }
  if (transcription.segments === undefined) printLine(transcription.text);
}

async function audioRequest(source: string, query: URLSearchParams): Promise<ServicePost> {
  if (/^https?:\/\//i.test(source)) {
    query.set("url", source);
    return { path: `v1/transcribe?${query}`, headers: { "content-length": 0 }, body: new Uint8Array(0) };
  }
  const path = query.size === 0 ? "v1/transcribe" : `v1/transcribe?${query}`;
  if (source === "-") {
    const body = await readAll(process.stdin);
    return { path, headers: { ...audioHeaders("audio.wav"), "content-length": body.length }, body };
  }
  const found = await stat(source).catch(() => null);
  if (found === null || !found.isFile())
    throw new CommandError(`Cannot read ${source}: there is no such file`);
  const headers = { ...audioHeaders(source), "content-length": found.size };
  // Read no further than the length that was announced, should the file grow meanwhile.
  const body = found.size === 0 ? new Uint8Array(0) : createReadStream(source, { end: found.size - 1 });
  return { path, headers, body };
}

function audioHeaders(source: string): { "content-type": string; "x-filename": string } {
  // Only the ending matters, and names with other letters than ASCII do not fit into a header.
  const ending = extname(source).replace(/[^.0-9A-Za-z]/g, "") || ".wav";
  return { "content-type": "application/octet-stream", "x-filename": `audio${ending}` };
}

function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return `${String(minutes).padStart(2, "0")}:${(seconds - minutes * 60).toFixed(2).padStart(5, "0")}`;
}
