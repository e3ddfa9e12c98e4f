import { z } from "zod";
import {
  commonRecognizerFields,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  type PublicRecognizerManifest,
} from "../public-recognizer-manifest.js";

/** `MEAN_TIME_BIAS` from T-one's own pipeline: mean delay from a letter to its row. */
const EMISSION_DELAY_SECONDS = 0.33;

export const T_ONE_CTC_PACKAGE = manifestOnly<PublicRecognizerManifest>(
  z
    .object(
      commonRecognizerFields("t-one-ctc", ["model", "vocabulary"], {
        emissionDelaySeconds: EMISSION_DELAY_SECONDS,
      }),
    )
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
