import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { MultipartReader, multipartBoundary } from "../../core/protocol/multipart.js";
import * as fc from "../support/properties.js";

interface Part {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly bytes: Buffer;
}

const BOUNDARY = "----x7";

test("parts do not depend on how the body is chunked", () => {
  // Bytes from a small alphabet make near misses of the delimiter likely.
  const byte = fc.constantFrom(0x0d, 0x0a, 0x2d, 0x78, 0x37, 0x00);
  const members = {
    name: fc.stringMatching(/^[a-z_[\]]{1,8}$/),
    fileName: fc.option(fc.stringMatching(/^[a-z .-]{1,12}$/), { nil: undefined }),
    bytes: fc.array(byte, { maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  };
  const part = fc.record(members, { noNullPrototype: true });
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      fc.boolean(),
      (parts, sizes, hasPreamble) => {
        fc.pre(parts.every(({ bytes }) => !bytes.includes(`\r\n--${BOUNDARY}`)));
        const body = encode(parts, hasPreamble ? "to be ignored\r\n" : "");
        assert.deepEqual(read(cut(body, sizes)), parts);
      },
    ),
    { numRuns: 300 },
  );
});

test("a body that ends early is an error at every length", () => {
  const body = encode([{ name: "file", fileName: "a.wav", bytes: Buffer.from("abc") }], "");
  // The last line break is optional.
  for (let length = 0; length < body.length - 4; length++) {
    assert.throws(() => read([body.subarray(0, length)]), invalidRequest, `cut at ${length}`);
  }
  assert.equal(read([body.subarray(0, body.length - 2)]).length, 1);
});

test("endless headers and parts without a name are rejected", () => {
  assert.throws(() => read([Buffer.from(`--${BOUNDARY}\r\nX: ${"y".repeat(20_000)}`)]), invalidRequest);
  assert.throws(
    () => read([Buffer.from(`--${BOUNDARY}\r\nX: y\r\n\r\nz\r\n--${BOUNDARY}--`)]),
    invalidRequest,
  );
});

test("quotes and escapes in names are understood", () => {
  const head = 'Content-Disposition: form-data; name="fi\\"le"; filename="a;b.wav"';
  const body = `--${BOUNDARY}\r\n${head}\r\n\r\nx\r\n--${BOUNDARY}--`;
  assert.deepEqual(read([Buffer.from(body)]), [
    { name: 'fi"le', fileName: "a;b.wav", bytes: Buffer.from("x") },
  ]);
});

test("the boundary is found with and without quotes", () => {
  assert.equal(multipartBoundary("multipart/form-data; boundary=abc"), "abc");
  assert.equal(multipartBoundary('multipart/form-data; charset=utf-8; boundary="a b"; x=y'), "a b");
  assert.throws(() => multipartBoundary("multipart/form-data"), invalidRequest);
});

function encode(parts: readonly Part[], preamble: string): Buffer {
  const pieces: Buffer[] = [Buffer.from(preamble)];
  for (const { name, fileName, bytes } of parts) {
    const file = fileName === undefined ? "" : `; filename="${fileName}"\r\nContent-Type: audio/wav`;
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    pieces.push(Buffer.from(head), bytes, Buffer.from("\r\n"));
  }
  pieces.push(Buffer.from(`--${BOUNDARY}--\r\n`));
  return Buffer.concat(pieces);
}

function read(chunks: readonly Buffer[]): Part[] {
  const reader = new MultipartReader(BOUNDARY);
  const parts: { name: string; fileName: string | undefined; chunks: Uint8Array[] }[] = [];
  for (const chunk of chunks) {
    for (const event of reader.push(chunk)) {
      if (event.type === "part") parts.push({ name: event.name, fileName: event.fileName, chunks: [] });
      else if (event.type === "data") parts.at(-1)?.chunks.push(event.bytes);
    }
  }
  reader.end();
  return parts.map(({ name, fileName, chunks }) => ({ name, fileName, bytes: Buffer.concat(chunks) }));
}

function cut(body: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0, i = 0; start < body.length; i++) {
    const end = start + sizes[i % sizes.length]!;
    chunks.push(body.subarray(start, end));
    start = end;
  }
  return chunks;
}

function invalidRequest(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "INVALID_REQUEST";
}
