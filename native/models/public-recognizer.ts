import type { RecognizerFamily } from "./family.js";
import type { GraphOptions } from "./graph.js";
import type { ModelPackage } from "./package.js";
import type { PackageSchema } from "./package-schema.js";
import type { PublicRecognizerManifest } from "./public-recognizer-manifest.js";
import { readTokens } from "./tokens.js";
import type { CtcHead } from "./voiced-recognizer.js";

const PROBE_SAMPLES = 16_000;

/** A family of public weights: a CTC head of its own, with Silero VAD beside it. */
export function publicRecognizer<M extends PublicRecognizerManifest>(family: {
  readonly name: string;
  readonly can: RecognizerFamily["can"];
  readonly schema: () => Promise<PackageSchema<M, object>>;
  readonly loadHead: (model: ModelPackage<M>, options: GraphOptions) => Promise<CtcHead>;
}): RecognizerFamily<M, object> {
  const { name, can, schema, loadHead } = family;
  return {
    name,
    task: "transcription",
    can,
    schema,
    load: async (model, options) => {
      const { SileroVad } = await import("./silero-vad.js");
      const { VoicedRecognizer } = await import("./voiced-recognizer.js");
      const vad = await SileroVad.load(model, options);
      const head = await loadHead(model, options);
      // Shapes that graphs leave open show when they run: better now than in the first utterance.
      await head.decode(Float32Array.from({ length: PROBE_SAMPLES }, (_, i) => 0.1 * Math.sin(i)));
      return new VoicedRecognizer(model.manifest, head, vad);
    },
    vocabulary: async (model) => (await readTokens(model)).vocabulary,
  };
}
