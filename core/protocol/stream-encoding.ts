import { Encoder } from "@msgpack/msgpack";
import type { StreamServerMessage } from "./stream-messages.js";

/** Encodings of messages to a live client: JSON text, or a MessagePack map in a binary message. */
export const STREAM_ENCODINGS = ["json", "msgpack"] as const;
export type StreamEncoding = (typeof STREAM_ENCODINGS)[number];

// Leaves out undefined members, as JSON does.
const encoder = new Encoder({ ignoreUndefined: true });

/** Encodes a message; the bytes belong to the caller. */
export function encodeMessagePack(message: StreamServerMessage): Uint8Array {
  return encoder.encode(message);
}
