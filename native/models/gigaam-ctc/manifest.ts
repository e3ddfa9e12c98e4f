import { z } from "zod";
import {
  manifestOnly,
  PUBLIC_RECOGNIZER,
  publicRecognizerFields,
  subsamplingField,
} from "../public-recognizer-manifest.js";
import { choice } from "../rules.js";

export const GIGAAM_CTC_PACKAGE = manifestOnly(
  z
    .object({
      ...publicRecognizerFields("gigaam-ctc"),
      subsampling: subsamplingField(),
      frontEnd: choice(["gigaam-v2", "gigaam-v3"]),
    })
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
