import type { NodeAudioSource } from "../client/node.js";
import { type Command, type CommandInput, onlyArgument, printLine } from "./command.js";
import {
  HOT_WORDS_HELP,
  openService,
  readStandardInput,
  SERVICE_OPTION_HELP,
  SERVICE_OPTIONS,
} from "./service-client.js";

export const transcribeCommand: Command = {
  usage: "transcribe FILE [--timestamps]",
  summary:
    "Writes down a recording; FILE may be an http(s) address that the service fetches, or - for standard input.",
  options: { ...SERVICE_OPTIONS, timestamps: { type: "boolean" }, hotwords: { type: "string" } },
  optionHelp: [
    ...SERVICE_OPTION_HELP,
    "--timestamps  one line for each run of speech, with its times",
    HOT_WORDS_HELP,
  ],
  run: transcribe,
};

async function transcribe(input: CommandInput): Promise<void> {
  const source = onlyArgument(input, "FILE");
  const client = await openService(input);
  const timestamps = input.options.isSet("timestamps");
  const hotWords = input.options.text("hotwords")?.split(",");
  const transcription = await client.transcribe(await audioSource(source), { timestamps, hotWords });
  if (input.options.isSet("json")) {
    printLine(JSON.stringify(transcription));
    return;
  }
  for (const segment of transcription.segments ?? []) {
    printLine(`[${clock(segment.start)} - ${clock(segment.end)}] ${segment.text}`);
  }
  if (transcription.segments === undefined) printLine(transcription.text);
}

async function audioSource(source: string): Promise<NodeAudioSource> {
  if (/^https?:\/\//i.test(source)) return { url: source };
  return source === "-" ? await readStandardInput() : { path: source };
}

function clock(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return `${String(minutes).padStart(2, "0")}:${(seconds - minutes * 60).toFixed(2).padStart(5, "0")}`;
}
