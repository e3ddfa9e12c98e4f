import type { SynthesizerFamily } from "../family.js";
import type { MatchaContents, MatchaManifest } from "./manifest.js";

/** Public weights. Their graphs keep the durations to themselves. */
export const MATCHA: SynthesizerFamily<MatchaManifest, MatchaContents> = {
  name: "matcha",
  task: "synthesis",
  can: { wordTimes: () => false, solverSteps: false },
  schema: async () => (await import("./manifest.js")).MATCHA_PACKAGE,
  load: async (model, options) => ({
    shares: "nothing",
    model: await (await import("./matcha.js")).Matcha.load(model, options),
  }),
};
