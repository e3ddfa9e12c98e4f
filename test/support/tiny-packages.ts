import { FAMILIES } from "../../native/models/families.js";
import type { RecognizerFamily } from "../../native/models/family.js";
import { findPackages } from "../../native/models/find-packages.js";

/** Committed packages of random weights, below 100 KB a graph; each family of public weights has one. */
export const TINY_PACKAGES = await findPackages("test/fixtures/adapters");

/** The recognisers among them, with what their families can do. A package that is added is tested by what reads this. */
export const TINY_RECOGNIZERS = TINY_PACKAGES.flatMap(({ manifest }) => {
  const { id, family: name } = manifest;
  const isIts = (family: { readonly name: string; readonly task: string }): family is RecognizerFamily =>
    family.name === name && family.task === "transcription";
  const family = FAMILIES.find(isIts);
  // Graphs that read chunks say how long these are; the others read whole utterances.
  if (family === undefined || manifest.task !== "transcription") return [];
  return [{ id, ...family.can, forget: family.can.forget(manifest), streams: "shiftFrames" in manifest }];
});

/** The synthesizers among them, each with its last voice. */
export const TINY_SYNTHESIZERS = TINY_PACKAGES.flatMap(({ manifest }) => {
  if (manifest.task !== "synthesis") return [];
  const { id, family, voices } = manifest;
  return [{ id, family, voice: voices.at(-1)!.name }];
});
