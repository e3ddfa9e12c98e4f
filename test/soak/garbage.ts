import { once } from "node:events";
import WebSocket from "ws";
import { eventually } from "../support/eventually.js";

/** Collects the garbage of another Node process through its inspector. */
export class GarbageCollector {
  readonly #socket: WebSocket;
  #count = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** @param inspectorPort port on 127.0.0.1 with which the process was started (`--inspect-port`) */
  static async open(pid: number, inspectorPort: number): Promise<GarbageCollector> {
    process.kill(pid, "SIGUSR1");
    let address = "";
    await eventually("the inspector listens", async () => {
      const answer = await fetch(`http://127.0.0.1:${inspectorPort}/json`).catch(() => null);
      const targets = ((await answer?.json()) ?? []) as readonly { webSocketDebuggerUrl: string }[];
      address = targets[0]?.webSocketDebuggerUrl ?? "";
      return address !== "";
    });
    const socket = new WebSocket(address);
    await once(socket, "open");
    return new GarbageCollector(socket);
  }

  /** Settles after a full collection of the main thread's heap. */
  async collect(): Promise<void> {
    const id = ++this.#count;
    const answered = new Promise<void>((resolve, reject) => {
      const hear = (data: WebSocket.RawData) => {
        if ((JSON.parse(String(data)) as { id?: number }).id !== id) return;
        this.#socket.off("message", hear);
        resolve();
      };
      this.#socket.on("message", hear);
      this.#socket.once("close", () => reject(new Error("the inspector closed its connection")));
    });
    this.#socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
    await answered;
    this.#socket.removeAllListeners("close");
  }

  close(): void {
    this.#socket.terminate();
  }
}
