import { z } from "zod";
import { manifestOnly, PUBLIC_RECOGNIZER } from "../public-recognizer-manifest.js";
import { type TransducerManifest, transducerFields } from "../zipformer2-transducer/manifest.js";

export const ZIPFORMER_TRANSDUCER_PACKAGE = manifestOnly<TransducerManifest>(
  z
    .object(transducerFields("zipformer-transducer"))
    .transform((fields) => ({ ...fields, ...PUBLIC_RECOGNIZER })),
);
