import { PcmRing } from "../../native/ring/pcm-ring.js";
import type { ToLiveWorker } from "../../native/threads/protocol.js";
import { type BundleWriter, encodeOpen, RECORD } from "./lane-records.js";

type Open = Extract<ToLiveWorker, { type: "open" }>;

/** Marks the end of an utterance, or of the audio. */
interface Mark {
  readonly type: "finalize" | "finish";
  readonly atSample: number;
}

/** Sends one session on a lane: its audio, read from its ring as a worker thread does, and its marks. */
export class LaneSession {
  readonly session: number;
  readonly epoch: number;
  readonly #open: Open;
  /** First sample to send: the resume point minus the context of a replay. */
  readonly #fromSample: number;
  #ring: PcmRing;
  #marks: Mark[] = [];
  #nextMark = 0;
  #sentSamples: number;
  #isOpened = false;

  constructor(open: Open, contextSamples: number) {
    this.session = open.session;
    this.epoch = open.epoch;
    this.#open = open;
    this.#fromSample = Math.max(0, open.from.sample - contextSamples);
    this.#sentSamples = this.#fromSample;
    this.#ring = PcmRing.attach(open.ring);
    this.#ring.cursor = this.#fromSample;
  }

  mark(mark: Mark): void {
    this.#marks.push(mark);
  }

  /** Continues in another ring that holds the same audio at the same positions. */
  useRing(buffer: SharedArrayBuffer): void {
    const { cursor } = this.#ring;
    this.#ring = PcmRing.attach(buffer);
    this.#ring.cursor = cursor;
  }

  /** Sets the read position of the worker. */
  moveCursor(sample: number): void {
    this.#ring.cursor = sample;
  }

  /** Sends the session again from its first sample, after the node had no room for it. */
  rewind(): void {
    this.#isOpened = false;
    this.#nextMark = 0;
    this.#sentSamples = this.#fromSample;
  }

  /**
   * Adds new audio and marks to a bundle.
   *
   * @param roomSamples number of samples that the lane's window allows now
   * @returns false if the bundle is full; true if it holds everything that `roomSamples` allows
   */
  write(bundle: BundleWriter, roomSamples: number): boolean {
    if (!this.#isOpened) {
      const body = encodeOpen(this.#open);
      if (!bundle.hasRoomFor(body.length)) return false;
      bundle.add(RECORD.open, this.#at(this.#fromSample), body);
      this.#isOpened = true;
    }
    for (let leftSamples = roomSamples; ; ) {
      const mark = this.#marks[this.#nextMark];
      const dueSamples = (mark?.atSample ?? this.#ring.written) - this.#sentSamples;
      const count = Math.min(dueSamples, leftSamples, bundle.roomSamples);
      if (count > 0) {
        this.#ring.copyOut(this.#sentSamples, bundle.addAudio(this.#at(this.#sentSamples), count));
        this.#sentSamples += count;
        leftSamples -= count;
      }
      if (count < dueSamples) return leftSamples === 0;
      if (mark === undefined) return true;
      if (!bundle.hasRoomFor(0)) return false;
      bundle.add(RECORD[mark.type], this.#at(mark.atSample));
      this.#nextMark++;
    }
  }

  #at(position: number) {
    return { session: this.session, epoch: this.epoch, position };
  }
}
