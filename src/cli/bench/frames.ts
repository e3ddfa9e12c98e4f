import { randomBytes } from "node:crypto";

const TEXT = 0x81;
const BINARY = 0x82;
const MASKED = 0x80;
const MASK_BYTES = 4;
const MASK = randomBytes(MASK_BYTES);

/**
 * Encodes a client message as a WebSocket frame. All frames share one random mask per process, so that every
 * session can send the same bytes.
 *
 * @see RFC 6455, 5.2
 */
export function clientFrame(payload: Uint8Array | string): Buffer {
  const isText = typeof payload === "string";
  const bytes = isText ? Buffer.from(payload) : payload;
  const head = headOf(bytes.length);
  head[0] = isText ? TEXT : BINARY;
  const frame = Buffer.allocUnsafe(head.length + MASK_BYTES + bytes.length);
  frame.set(head);
  frame.set(MASK, head.length);
  const start = head.length + MASK_BYTES;
  for (let i = 0; i < bytes.length; i++) frame[start + i] = bytes[i]! ^ MASK[i & 3]!;
  return frame;
}

function headOf(length: number): Buffer {
  if (length < 126) return Buffer.from([0, MASKED | length]);
  if (length < 65_536) return Buffer.from([0, MASKED | 126, length >> 8, length & 255]);
  const head = Buffer.alloc(10);
  head[1] = MASKED | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
