import { requireNumber } from "../manifest-fields.js";
import type { SynthesizerManifest } from "../package.js";

/** A manifest of the family `matcha`. */
export interface MatchaManifest extends SynthesizerManifest {
  readonly family: "matcha";
  /** Of the noise the flow starts from; at 0 equal jobs give equal samples. */
  readonly temperature: number;
  /** Length of the speech at speed 1, in units of what the durations say. */
  readonly lengthScale: number;
  /** A blank before, between and after the symbols, as the original trains. */
  readonly addsBlanks: boolean;
}

/** @throws {Error} saying which field must be what */
export function parseMatcha(manifest: SynthesizerManifest): MatchaManifest {
  const filled = {
    temperature: 0.667,
    lengthScale: 1,
    addsBlanks: true,
    ...manifest,
    family: "matcha" as const,
  };
  if (requireNumber(filled, "temperature") < 0) throw new Error("temperature must be at least 0");
  if (requireNumber(filled, "lengthScale") <= 0) throw new Error("lengthScale must be more than 0");
  if (typeof filled.addsBlanks !== "boolean") throw new Error("addsBlanks must be true or false");
  return filled;
}
