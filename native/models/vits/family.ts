import type { SynthesizerFamily } from "../family.js";
import type { VitsContents, VitsManifest } from "./manifest.js";

/** Voices of Piper and MMS. */
export const VITS: SynthesizerFamily<VitsManifest, VitsContents> = {
  name: "vits",
  task: "synthesis",
  can: { wordTimes: ({ durations }) => durations !== undefined, solverSteps: false },
  schema: async () => (await import("./manifest.js")).VITS_PACKAGE,
  load: async (model, options) => ({
    shares: "nothing",
    model: await (await import("./vits.js")).Vits.load(model, options),
  }),
};
