import { publicRecognizer } from "../public-recognizer.js";

export const GIGAAM_CTC = publicRecognizer({
  name: "gigaam-ctc",
  can: { livePartials: true },
  schema: async () => (await import("./manifest.js")).GIGAAM_CTC_PACKAGE,
  loadHead: async (model, options) => (await import("./gigaam-ctc.js")).loadGigaamCtc(model, options),
});
