// What is said of calls: pieces of speech to be made, tasks of files to be done. MessagePack; members that a reader does not
// know are passed by.
import { decode, encode } from "@msgpack/msgpack";
import type { ErrorCode } from "../../core/domain/errors.js";

/** Of what is said of calls; a node that speaks only others is not asked. */
export const CALL_VERSION = 1;
/** Of audio or results in one message: small beside 1 MB, the most that the bus takes. */
export const MOST_PART_BYTES = 262_144;

/** What a front says to a host, and its number: all that it says to one is counted, and a gap ends all its calls there. */
export type NumberedToHost = ToHost & { readonly nth: number };

export type ToHost =
  | {
      readonly type: "call";
      readonly call: number;
      readonly model: string;
      /** Hash of the model's manifest. */
      readonly manifest: string;
      readonly body: unknown;
      readonly traceparent: string | null;
      /** Of other requests that share the call. */
      readonly otherTraceparents?: readonly string[];
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
  /**
   * All calls of the front that the host has: others are over, and those that it does not know are lost. Now and then it is
   * asked how much it has said.
   */
  | { readonly type: "alive"; readonly calls: readonly number[]; readonly isAsking: boolean };

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
  /** How many numbered messages there were so far. */
  | { readonly type: "said"; readonly count: number }
  /** It has no room, or does not serve the model. */
  | { readonly type: "refused" }
  | { readonly type: "unknown" };

/** Typed arrays go as their bytes: see `alignedBytes`. */
export function encodeCall(message: NumberedToHost | ToCaller): Uint8Array {
  return encode(message, { ignoreUndefined: true });
}

/** @throws {Error} for bytes that are no message */
export function decodeToHost(bytes: Uint8Array): NumberedToHost {
  return decode(bytes) as NumberedToHost;
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
