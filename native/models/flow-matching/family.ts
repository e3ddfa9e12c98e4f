import type { SynthesizerFamily } from "../family.js";
import type { MelSynthesizerManifest } from "../manifest.js";
import type { FlowMatchingContents } from "./manifest.js";

/** Text encoder, condition, solver step, vocoder; pieces that are made at once share runs. */
export const FLOW_MATCHING: SynthesizerFamily<MelSynthesizerManifest, FlowMatchingContents> = {
  name: "flow-matching",
  task: "synthesis",
  can: { wordTimes: () => true, solverSteps: true },
  schema: async () => (await import("./manifest.js")).FLOW_MATCHING_PACKAGE,
  load: async (model, options) => ({
    shares: "steps",
    model: await (await import("./flow-matching.js")).FlowMatching.load(model, options),
  }),
};
