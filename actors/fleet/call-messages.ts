// What is said of calls: pieces of speech to be made, tasks of files to be done. MessagePack; members that a reader does not
// know are passed by.
import { decode, encode } from "@msgpack/msgpack";
import type { ErrorCode } from "../../src/domain/errors.js";

/** Of what is said of calls; a node that speaks only others is not asked. */
export const CALL_VERSION = 1;
/** Of audio or results in one message: small beside 1 MB, the most that the bus takes. */
export const MOST_PART_BYTES = 262_144;

export type ToHost =
  | {
      readonly type: "call";
      readonly call: number;
      readonly model: string;
      /** Hash of the model's manifest. */
      readonly manifest: string;
      readonly body: unknown;
      readonly traceparent: string | null;
    }
  /** Something more about a call; what, its kind says. */
  | { readonly type: "note"; readonly call: number; readonly value: unknown }
  /** Bytes that the host has asked for. */
  | {
      readonly type: "pulled";
      readonly call: number;
      readonly pull: number;
      readonly bytes: Uint8Array;
    }
  | { readonly type: "cancel"; readonly call: number }
  /** All calls of the front that the host has: others are over, and those that it does not know are lost. */
  | { readonly type: "alive"; readonly calls: readonly number[] };

/** Numbered from 0 where `n` is: a number that is missing ends the call. */
export type ToCaller =
  | { readonly type: "part"; readonly n: number; readonly value: unknown }
  /** Asks for bytes of something that the front has, by its number. */
  | {
      readonly type: "pull";
      readonly n: number;
      readonly pull: number;
      readonly item: number;
      readonly start: number;
      readonly count: number;
    }
  | { readonly type: "done"; readonly n: number; readonly value: unknown }
  | { readonly type: "failed"; readonly n: number; readonly code: ErrorCode; readonly message: string }
  /** It has no room, or does not serve the model. */
  | { readonly type: "refused" }
  | { readonly type: "unknown" };

/** Typed arrays go as their bytes: see `alignedBytes`. */
export function encodeCall(message: ToHost | ToCaller): Uint8Array {
  return encode(message, { ignoreUndefined: true });
}

/** @throws {Error} for bytes that are no message */
export function decodeToHost(bytes: Uint8Array): ToHost {
  return decode(bytes) as ToHost;
}

/** @throws {Error} for bytes that are no message */
export function decodeToCaller(bytes: Uint8Array): ToCaller {
  return decode(bytes) as ToCaller;
}

/** Bytes of a message in memory of their own, which a view of wider elements may begin at: those of a message are lent. */
export function alignedBytes(bytes: Uint8Array): ArrayBuffer {
  const own = new Uint8Array(bytes.length);
  own.set(bytes);
  return own.buffer;
}
