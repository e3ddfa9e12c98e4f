import type { RecognizerFamily, VoiceSource } from "./family.js";
import type { GraphOptions } from "./graph.js";
import type { PackageSchema } from "./manifest.js";
import type { ModelPackage } from "./package.js";
import type { PublicRecognizerManifest } from "./public-recognizer-manifest.js";
import { readTokens } from "./tokens.js";
import type { CtcHead } from "./voiced-recognizer.js";

const PROBE_SAMPLES = 16_000;

const voiceSource = ({ files }: PublicRecognizerManifest): VoiceSource =>
  "vad" in files ? "package" : "near-voice";

/** Describes a family of public weights: its own head, combined with separate voice activity. */
export function publicRecognizer<M extends PublicRecognizerManifest>(family: {
  readonly name: string;
  readonly streams: boolean;
  /** False by default. */
  readonly windows?: boolean;
  /** True by default. */
  readonly takesHotWords?: boolean;
  readonly schema: () => Promise<PackageSchema<M, object>>;
  readonly loadHead: (model: ModelPackage<M>, options: GraphOptions) => Promise<CtcHead>;
}): RecognizerFamily<M, object> {
  const { name, streams, windows = false, takesHotWords: hotWords = true, schema, loadHead } = family;
  return {
    name,
    task: "transcription",
    // Only the near voice forgets: Silero's state depends on all earlier audio. The head's state starts with
    // each utterance.
    can: {
      livePartials: true,
      streams,
      windows,
      hotWords,
      forget: (manifest) => voiceSource(manifest) === "near-voice",
    },
    voiceSource,
    schema,
    load: async (model, options) => {
      const { loadVoiceActivity } = await import("./load-voice-activity.js");
      const { VoicedRecognizer } = await import("./voiced-recognizer.js");
      const voice = await loadVoiceActivity(model, options);
      const head = await loadHead(model, options);
      // Wrong shapes in dimensions that a graph leaves open show only in a run: fail now, not during an
      // utterance.
      await head.decode(Float32Array.from({ length: PROBE_SAMPLES }, (_, i) => 0.1 * Math.sin(i)));
      return new VoicedRecognizer(model.manifest, head, voice);
    },
    vocabulary: async (model) => (await readTokens(model)).vocabulary,
  };
}
