import { decode, encode } from "@msgpack/msgpack";
import {
  BundleWriter,
  MAX_BUNDLE_BYTES,
  RECORD,
  type RecordType,
  readBundle,
} from "../../actors/fleet/lane-records.js";
import { BusWrapper } from "./bus-wrapper.js";

/** A record type that no version defines yet. */
const LATER_RECORD = 99;
const ROOM_BYTES = 4_096;
const OF_LANE = { session: 0, epoch: 0, position: 0 };
const TO_NODE = /\.engine\./;

/** The connection of a process of a later release. Its messages contain unknown records and keys. */
export class NewerPeer extends BusWrapper {
  publish(subject: string, bytes: Uint8Array, replyTo?: string): void {
    this.bus.publish(subject, TO_NODE.test(subject) ? moreRecords(bytes) : moreKeys(bytes), replyTo);
  }
}

/** Adds a record after each record, and more keys to those that have keys. */
function moreRecords(bytes: Uint8Array): Uint8Array {
  // A full bundle has no room for more.
  if (bytes.length > MAX_BUNDLE_BYTES - ROOM_BYTES) return bytes;
  const { version, nth, records } = readBundle(bytes);
  const writer = new BundleWriter(version);
  for (const { type, body, ...of } of records) {
    const hasKeys = type === RECORD.join || type === RECORD.open;
    writer.add(type as RecordType, of, hasKeys ? moreKeys(body) : body);
    writer.add(LATER_RECORD as RecordType, OF_LANE, Uint8Array.of(1, 2, 3, 4, 5));
  }
  return writer.take(nth);
}

/** Adds a key and a value of a future version to a heartbeat, a report or the body of a record. */
function moreKeys(bytes: Uint8Array): Uint8Array {
  const known = decode(bytes) as { readonly answers?: readonly unknown[] };
  const later = { type: "later", session: 0, epoch: 1, of: "a release to come" };
  return encode({
    ...known,
    later,
    ...(known.answers !== undefined && { answers: known.answers.flatMap((answer) => [answer, later]) }),
  });
}
