import type { RecognizerFamily, VoiceSource } from "./family.js";
import type { GraphOptions } from "./graph.js";
import type { ModelPackage } from "./package.js";
import type { PackageSchema } from "./package-schema.js";
import type { PublicRecognizerManifest } from "./public-recognizer-manifest.js";
import { readTokens } from "./tokens.js";
import type { CtcHead } from "./voiced-recognizer.js";

const PROBE_SAMPLES = 16_000;

const voiceSource = ({ files }: PublicRecognizerManifest): VoiceSource =>
  "vad" in files ? "package" : "near-voice";

/** A family of public weights: its own CTC head, with voice activity beside it. */
export function publicRecognizer<M extends PublicRecognizerManifest>(family: {
  readonly name: string;
  readonly can: Pick<RecognizerFamily["can"], "livePartials">;
  readonly schema: () => Promise<PackageSchema<M, object>>;
  readonly loadHead: (model: ModelPackage<M>, options: GraphOptions) => Promise<CtcHead>;
}): RecognizerFamily<M, object> {
  const { name, can, schema, loadHead } = family;
  return {
    name,
    task: "transcription",
    // The near voice's memory ends, Silero's does not. A head's is only for partials, which files have none of.
    can: { ...can, forget: (manifest) => voiceSource(manifest) === "near-voice" },
    voiceSource,
    schema,
    load: async (model, options) => {
      const { loadVoiceActivity } = await import("./load-voice-activity.js");
      const { VoicedRecognizer } = await import("./voiced-recognizer.js");
      const voice = await loadVoiceActivity(model, options);
      const head = await loadHead(model, options);
      // Shapes that graphs leave open show when they run: better now than in the first utterance.
      await head.decode(Float32Array.from({ length: PROBE_SAMPLES }, (_, i) => 0.1 * Math.sin(i)));
      return new VoicedRecognizer(model.manifest, head, voice);
    },
    vocabulary: async (model) => (await readTokens(model)).vocabulary,
  };
}
