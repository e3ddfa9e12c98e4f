import type { Sql } from "postgres";
import { NICENESS, takeNiceness } from "../../../native/threads/niceness.js";
import { connect } from "../postgres/connect.js";
import type { PostgresConnection } from "../postgres/embedded-postgres.js";

/** A part of a job's audio to read. */
export interface PartToRead {
  /** The same in all tasks of a thread. */
  readonly target: PostgresConnection | string;
  /** UUID of the job. */
  readonly job: string;
  readonly part: number;
  /** Where the thread writes the part. */
  readonly room: SharedArrayBuffer;
}

takeNiceness(NICENESS.transcription);
let sql: Sql | null = null;

/** The thread's entry. @returns the size of the part; null if there is none */
export default async function readPart({ target, job, part, room }: PartToRead): Promise<number | null> {
  sql ??= connect(target, { debug() {} });
  // The driver asks for text, but not for a cursor's: the hexadecimal digits of 1 MiB would take 10 ms. These
  // statements are one transaction, and cannot have parameters.
  const results = await sql
    .unsafe(
      `declare audio binary cursor for
         select bytes from job_audio where job_id = '${job}' and part = ${part};
       fetch from audio;
       close audio`,
    )
    .raw();
  const [row] = (results as unknown as readonly (readonly Uint8Array[][])[])[1]!;
  if (row === undefined) return null;
  const bytes = row[0]!;
  new Uint8Array(room).set(bytes);
  return bytes.length;
}
