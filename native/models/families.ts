import { ServiceError } from "../../core/domain/errors.js";
import { CTC_TWO_PASS } from "./ctc-two-pass/family.js";
import { F5_TTS } from "./f5/family.js";
import type { Family, RecognizerFamily, SynthesizerFamily } from "./family.js";
import { FLOW_MATCHING } from "./flow-matching/family.js";
import { GIGAAM_CTC } from "./gigaam-ctc/family.js";
import type { RecognizerManifest, SynthesizerManifest } from "./manifest.js";
import { MATCHA } from "./matcha/family.js";
import { NEMO_CTC } from "./nemo-ctc/family.js";
import { NEMO_STREAMING_CTC } from "./nemo-streaming-ctc/family.js";
import { VITS } from "./vits/family.js";
import { ZIPFORMER2_CTC } from "./zipformer2-ctc/family.js";

/** Every family of models. A new one is a folder beside these and a line here. */
export const FAMILIES: readonly Family[] = [
  CTC_TWO_PASS,
  GIGAAM_CTC,
  NEMO_CTC,
  NEMO_STREAMING_CTC,
  ZIPFORMER2_CTC,
  FLOW_MATCHING,
  MATCHA,
  F5_TTS,
  VITS,
];

export function recognizerFamilyOf({ family: name }: RecognizerManifest): RecognizerFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "transcription") return family;
  throw new ServiceError("MODEL_BROKEN", `Cannot transcribe with a model of the family ${name}`);
}

export function synthesizerFamilyOf({ family: name }: SynthesizerManifest): SynthesizerFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "synthesis") return family;
  throw new ServiceError("MODEL_BROKEN", `Cannot speak with a model of the family ${name}`);
}
