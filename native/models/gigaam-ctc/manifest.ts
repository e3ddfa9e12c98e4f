import { z } from "zod";
import {
  longestSecondsField,
  manifestOnly,
  type OfflineRecognizerManifest,
  PUBLIC_RECOGNIZER,
  publicRecognizerFields,
  subsamplingField,
  windowsField,
} from "../public-recognizer-manifest.js";
import { choice } from "../rules.js";

/** The longest audio in training; from 30 s on, the model loses words. */
const LONGEST_SECONDS = 25;

export const GIGAAM_CTC_PACKAGE = manifestOnly<OfflineRecognizerManifest>(
  z
    .object({
      ...publicRecognizerFields("gigaam-ctc"),
      subsampling: subsamplingField(),
      frontEnd: choice(["gigaam-v2", "gigaam-v3"]),
      longestSeconds: longestSecondsField().default(LONGEST_SECONDS),
      windows: windowsField(),
    })
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
