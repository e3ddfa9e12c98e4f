import { FAMILIES } from "../../native/models/families.js";
import type { RecognizerFamily } from "../../native/models/family.js";
import { findPackages } from "../../native/models/find-packages.js";

/**
 * Committed packages with random weights, one for each family of public weights. Each graph has less than 100
 * KB.
 */
export const TINY_PACKAGES = await findPackages("test/fixtures/adapters");

/**
 * The recognizers among them, with the abilities of their families. Tests that use this list cover new
 * packages too.
 */
export const TINY_RECOGNIZERS = TINY_PACKAGES.flatMap(({ manifest }) => {
  const { id, family: name } = manifest;
  const isIts = (family: { readonly name: string; readonly task: string }): family is RecognizerFamily =>
    family.name === name && family.task === "transcription";
  const family = FAMILIES.find(isIts);
  if (family === undefined || manifest.task !== "transcription") return [];
  // A transducer's rows are the path of its search, not probabilities.
  const isSearched = "joiner" in manifest.files;
  const has = {
    graph: isSearched ? "encoder" : "model",
    isSearched,
    hasMel: "melBins" in manifest,
    hasShape: "shiftFrames" in manifest,
  };
  return [{ id, ...family.can, ...has, forget: family.can.forget(manifest) }];
});

/** The synthesizers among them, each with its last voice. */
export const TINY_SYNTHESIZERS = TINY_PACKAGES.flatMap(({ manifest }) => {
  if (manifest.task !== "synthesis") return [];
  const { id, family, voices } = manifest;
  return [{ id, family, voice: voices.at(-1)!.name }];
});
