import { z } from "zod";
import {
  commonRecognizerFields,
  manifestOnly,
  PUBLIC_RECOGNIZER,
  type PublicRecognizerManifest,
} from "../public-recognizer-manifest.js";

const FILES = ["encoder", "decoder", "joiner", "vocabulary"];

export const ZIPFORMER2_TRANSDUCER_PACKAGE = manifestOnly<PublicRecognizerManifest>(
  z
    .object(commonRecognizerFields("zipformer2-transducer", FILES))
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
