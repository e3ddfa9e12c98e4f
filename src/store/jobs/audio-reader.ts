import { OnDemandThread } from "../../../native/threads/on-demand-thread.js";
import type { PostgresConnection } from "../postgres/embedded-postgres.js";
import type { PartToRead } from "./audio-thread.js";

/** Size of a row of audio. A statement with one row takes a few milliseconds. */
export const PART_BYTES = 2 ** 20;

const ENTRY = new URL("./audio-thread.js", import.meta.url);

/** Reads the audio of jobs in a thread with a separate connection to the database. */
export class AudioReader {
  readonly #target: PostgresConnection | string;
  readonly #thread = new OnDemandThread(ENTRY);
  readonly #freeRooms: SharedArrayBuffer[] = [];

  constructor(target: PostgresConnection | string) {
    this.#target = target;
  }

  /** Returns the parts of a job's audio; each is valid until the next is requested. */
  async *parts(job: string): AsyncGenerator<Uint8Array, void, undefined> {
    const room = this.#freeRooms.pop() ?? new SharedArrayBuffer(PART_BYTES);
    try {
      for (let part = 0; ; part++) {
        const task: PartToRead = { target: this.#target, job, part, room };
        const bytes = (await this.#thread.run(task)) as number | null;
        if (bytes === null) return;
        yield new Uint8Array(room, 0, bytes);
      }
    } finally {
      this.#freeRooms.push(room);
    }
  }

  /** Ends the thread and its connection. */
  stop(): Promise<void> {
    return this.#thread.stop();
  }
}
