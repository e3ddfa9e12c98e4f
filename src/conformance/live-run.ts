import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type RawData, WebSocket } from "ws";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import type { Credential, LiveScript, LiveStep } from "./cases.js";
import { mismatch } from "./matching.js";
import { readMessagePack } from "./message-pack.js";
import { addressOf, newToken, RATE_HZ, type Server, UNKNOWN_TOKEN, userAgent, WRONG_KEY } from "./server.js";
import type { Message, Trace, TraceEntry } from "./trace.js";

/** Time for which a silent session stays silent. */
const IDLE_MS = 60_000;
const BYTES_PER_SECOND = RATE_HZ * 2;
const PROTOCOL = "svc-bearer";

/** Runs one session and records its messages and its end. @throws {Error} if the server cannot be reached */
export async function runLive(server: Server, name: string, script: LiveScript): Promise<Trace> {
  const { credential = "header" } = script;
  const token = await tokenFor(server, name, credential);
  if (credential === "used-token")
    await new LiveRun(server, name, { ...script, steps: [CLOSE] }, token).run();
  return await new LiveRun(server, name, script, token).run();
}

const CLOSE: LiveStep = { send: "text", text: '{"type":"close"}' };

async function tokenFor(server: Server, name: string, credential: Credential): Promise<string> {
  if (credential === "unknown-token") return UNKNOWN_TOKEN;
  const isNeeded = ["token-in-query", "token-in-subprotocol", "used-token"].includes(credential);
  return isNeeded ? await newToken(server, name) : "";
}

class LiveRun {
  readonly #server: Server;
  readonly #script: LiveScript;
  readonly #socket: WebSocket;
  readonly #entries: TraceEntry[] = [];
  readonly #ended = new AbortController();
  #changed: () => void = () => {};
  #protocol: string | null = null;
  #refusal: Trace["refusal"] = null;
  #closeCode: number | null = null;
  #error: Error | null = null;
  #sentBytes = 0;
  #hasClosed = false;

  constructor(server: Server, name: string, script: LiveScript, token: string) {
    this.#server = server;
    this.#script = script;
    const { key } = server;
    const { credential = "header", path = "/v1/stream", query = {} } = script;
    const isInQuery = ["token-in-query", "used-token", "unknown-token"].includes(credential);
    const url = addressOf(server.streamUrl, path, { ...query, ...(isInQuery && { token }) });
    url.protocol = url.protocol.replace("http", "ws");
    const headers = { "user-agent": userAgent(name), ...headersOf(credential, key) };
    const options = { headers, perMessageDeflate: false, handshakeTimeout: server.patienceMs };
    this.#socket = new WebSocket(url, protocolsOf(credential, key, token), options);
    this.#listen();
  }

  async run(): Promise<Trace> {
    await this.#opened();
    for (const step of this.#protocol === null ? [] : this.#script.steps) {
      if (this.#ended.signal.aborted) break;
      await this.#do(step);
    }
    await this.#closed();
    return {
      entries: this.#entries,
      protocol: this.#protocol,
      refusal: this.#refusal,
      closeCode: this.#closeCode,
      sampleCount: Math.floor(this.#sentBytes / 2),
    };
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on("message", (data, isBinary) => {
      this.#entries.push({ received: parsed(data, isBinary), isBinary });
      this.#changed();
    });
    socket.on("unexpected-response", (request, response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("close", () => {
        this.#refusal = { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
        request.destroy();
        this.#end();
      });
    });
    socket.on("error", (error) => {
      this.#error = error;
      if (socket.readyState === WebSocket.CLOSED) this.#end();
    });
    socket.on("close", (code) => {
      this.#closeCode = code;
      this.#end();
    });
  }

  #end(): void {
    this.#ended.abort();
    this.#changed();
  }

  async #opened(): Promise<void> {
    const isOpen = once(this.#socket, "open", { signal: this.#ended.signal }).then(
      () => true,
      () => false,
    );
    if (await isOpen) this.#protocol = this.#socket.protocol;
    else if (this.#refusal === null) this.#refuse();
  }

  /** Records a response that is not a valid handshake. @throws {Error} if there was no response */
  #refuse(): void {
    const { code, message } = (this.#error ?? new Error("no answer")) as NodeJS.ErrnoException;
    if (code !== undefined && !code.startsWith("WS_")) throw this.#error;
    this.#refusal = { status: 101, body: message };
    this.#closeCode = null;
  }

  /** Waits for the socket to close. If the server does not close it, the record shows that. */
  async #closed(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const within = this.#server.patienceMs + (this.#script.isLong === true ? IDLE_MS : 0);
    await sleep(within, undefined, { signal: this.#ended.signal }).catch(() => {});
    this.#socket.terminate();
  }

  async #do(step: LiveStep): Promise<void> {
    if ("await" in step) return await this.#received(step.await);
    if (step.send === "text") {
      const messageCount = step.times ?? 1;
      this.#entries.push({ sent: step.text.includes('"close"') ? "close" : "text", messageCount });
      const text = step.text.repeat(step.repeat ?? 1);
      for (let sent = 0; sent < messageCount; sent++) this.#send(text);
      if (step.text.includes('"close"')) this.#hasClosed = true;
      return;
    }
    const { bytes, chunkBytes } = this.#audioOf(step);
    // An empty message counts as well.
    this.#entries.push({ sent: "audio", messageCount: Math.max(1, Math.ceil(bytes.length / chunkBytes)) });
    if (!this.#hasClosed) this.#sentBytes += bytes.length - (isWav(step) ? headBytes(bytes) : 0);
    for (let from = 0; from === 0 || from < bytes.length; from += chunkBytes) {
      if (this.#ended.signal.aborted) return;
      this.#send(bytes.subarray(from, from + chunkBytes));
      if (this.#script.isPaced === true && this.#server.isPaced)
        await sleep((1_000 * chunkBytes) / BYTES_PER_SECOND, undefined, { signal: this.#ended.signal }).catch(
          () => {},
        );
    }
  }

  #audioOf(step: Exclude<LiveStep, { readonly await: unknown } | { readonly send: "text" }>) {
    const { clip } = this.#server;
    switch (step.send) {
      case "clip":
        return { bytes: isWav(step) ? clip : clip.subarray(headBytes(clip)), chunkBytes: step.chunkBytes };
      case "silence":
        return { bytes: new Uint8Array(step.seconds * BYTES_PER_SECOND), chunkBytes: step.chunkBytes };
      case "bytes":
        return { bytes: Uint8Array.from(Buffer.from(step.hex, "hex")), chunkBytes: step.hex.length };
      case "zeros":
        return { bytes: new Uint8Array(step.bytes), chunkBytes: Math.max(1, step.bytes) };
    }
  }

  #send(data: string | Uint8Array): void {
    // If the server has closed the socket meanwhile, its close code is what counts.
    this.#socket.send(data, () => {});
  }

  async #received(pattern: Extract<LiveStep, { readonly await: unknown }>["await"]): Promise<void> {
    const isThere = () =>
      this.#entries.some((entry) => "received" in entry && mismatch(pattern, entry.received) === null);
    const late = new AbortController();
    const deadline = setTimeout(() => {
      late.abort();
      this.#changed();
    }, this.#server.patienceMs);
    while (!isThere() && !late.signal.aborted && !this.#ended.signal.aborted) {
      await new Promise<void>((settle) => {
        this.#changed = settle;
      });
    }
    clearTimeout(deadline);
  }
}

function headersOf(credential: Credential, key: string): Readonly<Record<string, string>> {
  if (credential === "header") return { authorization: `Bearer ${key}` };
  return credential === "wrong-header" ? { authorization: `Bearer ${WRONG_KEY}` } : {};
}

function protocolsOf(credential: Credential, key: string, token: string): string[] {
  if (credential === "subprotocol") return [PROTOCOL, key];
  if (credential === "wrong-subprotocol") return [PROTOCOL, WRONG_KEY];
  return credential === "token-in-subprotocol" ? [PROTOCOL, token] : [];
}

function isWav(step: LiveStep): boolean {
  return "send" in step && step.send === "clip" && step.asWav === true;
}

function headBytes(wav: Uint8Array): number {
  return parseWavHeader(wav, wav.length)?.dataOffset ?? 0;
}

function parsed(data: RawData, isBinary: boolean): Message {
  const bytes = data as Buffer;
  try {
    return (isBinary ? readMessagePack(bytes) : JSON.parse(bytes.toString())) as Message;
  } catch (error) {
    return { type: "unreadable", detail: String(error) };
  }
}
