// Messages of calls. A call synthesizes a piece of speech or runs a task of a file. Messages are MessagePack,
// and readers ignore unknown members.
import { decode, encode } from "@msgpack/msgpack";
import type { ErrorCode } from "../../core/domain/errors.js";

/** Protocol version of calls. Fronts do not call nodes that lack it. */
export const CALL_VERSION = 1;
/** Most bytes of audio or results in one message, well below the bus's limit of 1 MB. */
export const MAX_PART_BYTES = 262_144;

/** A numbered message from a front to a host. After a gap, all of the front's calls on that host end. */
export type NumberedToHost = ToHost & { readonly nth: number };

export type ToHost =
  | {
      readonly type: "call";
      readonly call: number;
      readonly model: string;
      readonly manifest: string;
      readonly body: unknown;
      readonly traceparent: string | null;
      /** Traces of other requests that share the call. */
      readonly otherTraceparents?: readonly string[];
    }
  /** A later message about a call; the kind of call defines the value. */
  | { readonly type: "note"; readonly call: number; readonly value: unknown }
  /** Bytes that the host has requested. */
  | {
      readonly type: "pulled";
      readonly call: number;
      readonly pull: number;
      readonly bytes: Uint8Array;
    }
  | { readonly type: "cancel"; readonly call: number }
  /**
   * All of the front's calls on this host. The host ends any others, and reports listed calls that it does
   * not know. With `isAsking`, it also reports how many messages it has sent.
   */
  | { readonly type: "alive"; readonly calls: readonly number[]; readonly isAsking: boolean };

/** Messages with `n` are numbered from 0; a gap ends the call. */
export type ToCaller =
  | { readonly type: "part"; readonly n: number; readonly value: unknown }
  /** Requests bytes of one of the front's items. */
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
  /** Number of numbered messages sent so far. */
  | { readonly type: "said"; readonly count: number }
  /** The host has no room, or does not serve the model. */
  | { readonly type: "refused" }
  | { readonly type: "unknown" };

/** Encodes a message; typed arrays become their bytes, see `alignedBytes`. */
export function encodeCall(message: NumberedToHost | ToCaller): Uint8Array {
  return encode(message, { ignoreUndefined: true });
}

/** @throws {Error} for bytes that are not MessagePack */
export function decodeToHost(bytes: Uint8Array): NumberedToHost {
  return decode(bytes) as NumberedToHost;
}

/** @throws {Error} for bytes that are not MessagePack */
export function decodeToCaller(bytes: Uint8Array): ToCaller {
  return decode(bytes) as ToCaller;
}

/** Copies borrowed bytes of a message to an aligned buffer, for a view of wider elements. */
export function alignedBytes(bytes: Uint8Array): ArrayBuffer {
  const own = new Uint8Array(bytes.length);
  own.set(bytes);
  return own.buffer;
}
