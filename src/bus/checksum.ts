import { crc32 } from "node:zlib";

/** A CRC-32, unsigned, little-endian, at the end of every message. */
const CHECKSUM_BYTES = 4;
/** Initial value of the CRC. With 0, four zero bytes would be a valid message. */
const CRC_START = 0x64_61_75_79;

/** Appends the checksum to a message. */
export function withChecksum(bytes: Uint8Array): Uint8Array {
  const message = new Uint8Array(bytes.length + CHECKSUM_BYTES);
  message.set(bytes);
  new DataView(message.buffer).setUint32(bytes.length, crc32(bytes, CRC_START), true);
  return message;
}

/** Returns the bytes before the checksum, as a view of `message`; null if the message is damaged. */
export function verified(message: Uint8Array): Uint8Array | null {
  const length = message.length - CHECKSUM_BYTES;
  if (length < 0) return null;
  const bytes = message.subarray(0, length);
  const checksum = new DataView(message.buffer, message.byteOffset + length).getUint32(0, true);
  return crc32(bytes, CRC_START) === checksum ? bytes : null;
}
