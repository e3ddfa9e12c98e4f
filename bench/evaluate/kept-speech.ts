import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { GROWING_CHUNKS } from "../../core/domain/synthesis/solver-chunks.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import type { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import { speakAlone } from "../../native/models/flow-matching/speak-alone.js";
import { SPOKEN } from "./paths.js";
import { weightsOf } from "./versions.js";

export interface KeptSpeech {
  readonly pcm: Float32Array;
  readonly sampleRateHz: number;
  /** Null if an earlier run synthesized it. */
  readonly computeSeconds: number | null;
}

/**
 * Synthesizes speech and caches it by weights, so that another recogniser can be evaluated without waiting.
 */
export class KeptSpeaker {
  readonly #model: FlowMatching;
  readonly #folder: string;

  constructor(model: FlowMatching) {
    this.#model = model;
    this.#folder = `${SPOKEN}${weightsOf(model.manifest)}/`;
  }

  async speak(
    job: Pick<SynthesisJob, "voice" | "speed" | "nfe" | "seed" | "chunking"> & { text: string },
  ): Promise<KeptSpeech> {
    const { id: modelId, sampleRateHz } = this.#model.manifest;
    const { voice, speed, nfe, seed, text, chunking = "whole" } = job;
    const way = chunking === "whole" ? [] : [chunking, ...Object.values(GROWING_CHUNKS)];
    const key = [...way, voice, speed, nfe, seed, Buffer.from(text).toString("base64url").slice(0, 160)].join(
      "-",
    );
    const path = `${this.#folder}${key}.f32`;
    if (existsSync(path)) {
      const bytes = await readFile(path);
      const samples = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
      return { pcm: new Float32Array(samples), sampleRateHz, computeSeconds: null };
    }
    const before = performance.now();
    const pcm = await speakAlone(this.#model, {
      modelId,
      voice,
      spokenText: text,
      speed,
      nfe,
      seed,
      chunking,
    });
    const computeSeconds = (performance.now() - before) / 1000;
    await mkdir(this.#folder, { recursive: true });
    await writeFile(path, new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
    return { pcm, sampleRateHz, computeSeconds };
  }
}
