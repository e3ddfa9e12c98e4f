const HEAD_BYTES = 27;
const CAPTURE = "OggS";
const NO_BYTES = new Uint8Array(0);

export interface OggPage {
  readonly serial: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** True if the page's first packet started on the previous page. */
  readonly isContinued: boolean;
  /** Position at the end of the page's last packet, in the codec's units; null if no packet ends here. */
  readonly granule: number | null;
  /** Packets in order. If `isOpen`, the last one continues on the next page. */
  readonly packets: readonly Uint8Array[];
  readonly isOpen: boolean;
}

/**
 * Splits an Ogg file into its pages as the bytes arrive. Skips bytes between pages.
 *
 * @see RFC 3533
 */
export class OggPages {
  #held: Uint8Array = NO_BYTES;

  push(bytes: Uint8Array): OggPage[] {
    const whole = new Uint8Array(this.#held.length + bytes.length);
    whole.set(this.#held);
    whole.set(bytes, this.#held.length);
    const pages: OggPage[] = [];
    let at = 0;
    while (at + HEAD_BYTES <= whole.length) {
      if (!isPage(whole, at)) {
        at++;
        continue;
      }
      const bodyAt = at + HEAD_BYTES + whole[at + 26]!;
      const lacing = whole.subarray(at + HEAD_BYTES, bodyAt);
      const end = bodyAt + lacing.reduce((sum, length) => sum + length, 0);
      if (end > whole.length) break;
      pages.push(readPage(whole.subarray(at, end), lacing));
      at = end;
    }
    this.#held = whole.slice(at);
    return pages;
  }
}

function isPage(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < CAPTURE.length; i++) if (bytes[at + i] !== CAPTURE.charCodeAt(i)) return false;
  return bytes[at + 4] === 0 && bytes[at + 5]! < 8;
}

function readPage(page: Uint8Array, lacing: Uint8Array): OggPage {
  const view = new DataView(page.buffer, page.byteOffset);
  const flags = page[5]!;
  const granule = view.getBigInt64(6, true);
  const packets: Uint8Array[] = [];
  let start = HEAD_BYTES + lacing.length;
  let end = start;
  for (const length of lacing) {
    end += length;
    // After a full segment, the packet continues.
    if (length === 255) continue;
    packets.push(page.slice(start, end));
    start = end;
  }
  const isOpen = lacing.at(-1) === 255;
  if (isOpen) packets.push(page.slice(start, end));
  return {
    serial: view.getUint32(14, true),
    isContinued: (flags & 1) !== 0,
    isFirst: (flags & 2) !== 0,
    isLast: (flags & 4) !== 0,
    granule: granule < 0n ? null : Number(granule),
    packets,
    isOpen,
  };
}
