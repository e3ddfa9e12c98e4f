import { Encoder } from "@msgpack/msgpack";
import type { StreamServerMessage } from "./stream-messages.js";

/** How messages to a live client are written: JSON as text, or one MessagePack map as a binary message. */
export const STREAM_ENCODINGS = ["json", "msgpack"] as const;
export type StreamEncoding = (typeof STREAM_ENCODINGS)[number];

// The same members as in JSON, where one that is undefined is left out.
const encoder = new Encoder({ ignoreUndefined: true });

/** The bytes are the caller's own. */
export function encodeMessagePack(message: StreamServerMessage): Uint8Array {
  return encoder.encode(message);
}
