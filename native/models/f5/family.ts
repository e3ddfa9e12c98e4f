import type { SynthesizerFamily } from "../family.js";
import type { F5Manifest } from "./manifest.js";

/** Public weights. Their graphs keep the durations to themselves. */
export const F5_TTS: SynthesizerFamily<F5Manifest, object> = {
  name: "f5",
  task: "synthesis",
  can: { wordTimes: () => false, solverSteps: false },
  schema: async () => (await import("./manifest.js")).F5_PACKAGE,
  load: async (model, options) => ({
    shares: "nothing",
    model: await (await import("./f5.js")).F5.load(model, options),
  }),
};
