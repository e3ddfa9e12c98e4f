import { WebSocket } from "ws";
import type { StreamServerMessage } from "../protocol/stream-messages.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  onlyArgument,
  printLine,
  printNote,
} from "./command.js";
import { atRealTime, liveAudio } from "./live-audio.js";
import { LiveTerminal } from "./live-terminal.js";
import {
  refusal,
  SERVICE_OPTION_HELP,
  SERVICE_OPTIONS,
  ServiceClient,
  unreachable,
} from "./service-client.js";

export const listenCommand: Command = {
  usage: "listen FILE|-",
  summary: "Streams a WAV file, or raw 16-bit 16 kHz samples from standard input, and writes as it hears.",
  options: { ...SERVICE_OPTIONS, "eou-ms": { type: "string" }, words: { type: "boolean" } },
  optionHelp: [
    ...SERVICE_OPTION_HELP,
    "--eou-ms MS  silence that ends an utterance, 100 to 2000",
    "--words  with --json: the times of each word",
  ],
  run: listen,
};

const OPEN_TIMEOUT_MS = 60_000;
const BACKLOG_BYTES = 256 * 1024;
const NORMAL_CLOSE = 1000;

async function listen(input: CommandInput): Promise<void> {
  const source = onlyArgument(input, "FILE");
  const client = await ServiceClient.open(input);
  const socket = newSocket(client, input);
  const show = input.options.isSet("json") ? printJson : showOn(new LiveTerminal(process.stdout));
  // The first messages can come in one packet with the answer to the handshake: listen before it is there.
  const ended = untilEnded(socket, show);
  // Reported where it is awaited, once the socket is open.
  ended.catch(() => {});
  await untilOpen(socket, client.url);
  const enough = new AbortController();
  const stop = () => enough.abort();
  // Ctrl-C ends the recording: the last words and the bill still come. A second one ends all.
  process.once("SIGINT", stop);
  try {
    await Promise.race([send(socket, source, enough.signal), ended]);
    await ended;
  } finally {
    process.off("SIGINT", stop);
    socket.terminate();
    // An open standard input would keep the process.
    process.stdin.destroy();
  }
}

function newSocket(client: ServiceClient, { options }: CommandInput): WebSocket {
  const url = client.address("v1/stream");
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const silenceMs = options.number("eou-ms");
  if (silenceMs !== null) url.searchParams.set("eou_ms", String(silenceMs));
  if (options.isSet("words")) url.searchParams.set("words", "true");
  const headers = { authorization: client.authorization };
  return new WebSocket(url, { headers, handshakeTimeout: OPEN_TIMEOUT_MS, perMessageDeflate: false });
}

async function untilOpen(socket: WebSocket, url: URL): Promise<void> {
  await new Promise<void>((settle, fail) => {
    socket.once("open", settle);
    socket.once("error", (error) => fail(unreachable(url, error)));
    socket.once("unexpected-response", (request, response) => {
      const refused = refusal(response).then((text) => fail(new CommandError(text)), fail);
      refused.finally(() => request.destroy());
    });
  });
}

async function send(socket: WebSocket, source: string, enough: AbortSignal): Promise<void> {
  const interrupted = new Promise<"enough">((settle) => {
    enough.addEventListener("abort", () => settle("enough"));
  });
  const parts = atRealTime(liveAudio(source));
  while (socket.readyState === WebSocket.OPEN) {
    const next = await Promise.race([parts.next(), interrupted]);
    if (next === "enough" || next.done === true) break;
    await sendWithin(socket, next.value);
  }
  if (socket.readyState === WebSocket.OPEN) socket.send('{"type":"close"}');
}

/** Sends, and waits for the network when it lags behind. */
async function sendWithin(socket: WebSocket, part: Buffer): Promise<void> {
  await new Promise<void>((settle) => {
    // An error here closes the socket, which is reported where it ends.
    socket.send(part, () => settle());
    if (socket.bufferedAmount < BACKLOG_BYTES) settle();
  });
}

async function untilEnded(socket: WebSocket, show: (message: StreamServerMessage) => void): Promise<void> {
  let failure: string | null = null;
  socket.on("message", (data, isBinary) => {
    if (isBinary) return;
    const message = JSON.parse(String(data)) as StreamServerMessage;
    if (message.type === "error") failure = message.detail;
    show(message);
  });
  await new Promise<void>((settle, fail) => {
    socket.once("error", (error) => fail(new CommandError(`the connection broke: ${error.message}`)));
    socket.once("close", (code, reason) => {
      if (code === NORMAL_CLOSE && failure === null) settle();
      else fail(new CommandError(failure ?? `the service closed the connection: ${code} ${reason}`.trim()));
    });
  });
}

function printJson(message: StreamServerMessage): void {
  printLine(JSON.stringify(message));
}

function showOn(terminal: LiveTerminal): (message: StreamServerMessage) => void {
  return (message) => {
    if (message.type === "partial") terminal.partial(message.text);
    else if (message.type === "final") terminal.final(message.text);
    else if (message.type === "going_away") printNote(`the service stops within ${message.deadline_s} s`);
  };
}
