import { Tensor } from "onnxruntime-node";
import { FRAME_SAMPLES } from "../../core/domain/audio/frame.js";
import { lastDimension, requireContract } from "./graph.js";
import type { Graph, GraphContract } from "./graph-interface.js";
import { StateRows } from "./state-rows.js";
import type { VoiceActivity, VoiceFrames } from "./voice-activity.js";

const TENSORS = {
  inputs: ["pcm", "state", "history"],
  outputs: ["speech", "next_state", "next_history"],
} as const satisfies Omit<GraphContract, "file">;

/**
 * Voice activity that follows the near speaker (`models/recipes/voice-activity`). One run takes the frames of
 * all rows. Rows are independent, any chunking of the audio gives bit-identical results, and its memory is
 * finite.
 */
export class NearVoice implements VoiceActivity {
  readonly stateSize: number;
  readonly stateBytes: number;
  /** Reach of its convolutions, its only memory. */
  readonly contextFrames = 37;
  readonly #graph: Graph;
  /** Buffers sized for the largest number of rows that have run together. */
  #from: StateRows;
  #to: StateRows;

  /** @param name name for errors. @throws {ServiceError} `MODEL_BROKEN` with the missing tensors */
  constructor(graph: Graph, name: string) {
    requireContract(graph, name, { file: name, ...TENSORS });
    this.stateSize = lastDimension(graph, "state", name);
    this.stateBytes = lastDimension(graph, "history", name);
    this.#graph = graph;
    this.#from = new StateRows(this, 1);
    this.#to = new StateRows(this, 1);
  }

  /** Recognizes such a graph by its input `pcm`; Silero's has `input`. */
  static isIts(graph: Graph): boolean {
    return graph.inputNames.includes("pcm");
  }

  async hear({ frames, pcm, speech, states }: VoiceFrames): Promise<void> {
    const rows = states.length;
    if (rows > this.#from.rows.length) {
      this.#from = new StateRows(this, rows);
      this.#to = new StateRows(this, rows);
    }
    for (const [row, { values, bytes }] of states.entries()) {
      this.#from.rows[row]!.values.set(values.subarray(0, this.stateSize));
      this.#from.rows[row]!.bytes.set(bytes.subarray(0, this.stateBytes));
    }
    const [from, to] = [this.#from.tensors(rows), this.#to.tensors(rows)];
    await this.#graph.run(
      {
        pcm: new Tensor("float32", pcm, [rows, frames * FRAME_SAMPLES]),
        state: from.values,
        history: from.bytes!,
      },
      {
        speech: new Tensor("float32", speech, [rows, frames]),
        next_state: to.values,
        next_history: to.bytes!,
      },
    );
    for (const [row, { values, bytes }] of states.entries()) {
      values.set(this.#to.rows[row]!.values);
      bytes.set(this.#to.rows[row]!.bytes);
    }
  }

  async release(): Promise<void> {
    await this.#graph.release();
  }
}
