import type { RecognizerFamily } from "../family.js";
import type { RecognizerManifest } from "../manifest.js";
import type { CtcTwoPassContents } from "./manifest.js";

/** A streaming encoder with CTC and speech outputs, and a full-context second pass. */
export const CTC_TWO_PASS: RecognizerFamily<RecognizerManifest, CtcTwoPassContents> = {
  name: "ctc-two-pass",
  task: "transcription",
  can: { livePartials: true, forget: () => true },
  voiceSource: () => "model",
  schema: async () => (await import("./manifest.js")).CTC_TWO_PASS_PACKAGE,
  load: async (model, options) => (await import("./ctc-two-pass.js")).CtcTwoPass.load(model, options),
  vocabulary: async ({ contents }) => contents.vocabulary,
};
