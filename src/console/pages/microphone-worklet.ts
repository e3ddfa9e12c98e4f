// Runs on the audio thread and posts 16-bit PCM in pieces of 40 ms.
import { FRAME_SAMPLES } from "../../../core/domain/audio/frame.js";

declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: typeof AudioWorkletProcessor): void;

class Microphone extends AudioWorkletProcessor {
  #piece = new Int16Array(FRAME_SAMPLES);
  #filled = 0;

  process(inputs: readonly (readonly Float32Array[])[]): boolean {
    for (const sample of inputs[0]?.[0] ?? []) {
      this.#piece[this.#filled++] = Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)));
      if (this.#filled < FRAME_SAMPLES) continue;
      this.port.postMessage(this.#piece, [this.#piece.buffer]);
      this.#piece = new Int16Array(FRAME_SAMPLES);
      this.#filled = 0;
    }
    return true;
  }
}

registerProcessor("microphone", Microphone);
