import { publicRecognizer } from "../public-recognizer.js";

export const NEMO_CTC = publicRecognizer({
  name: "nemo-ctc",
  can: { livePartials: true },
  schema: async () => (await import("./manifest.js")).NEMO_CTC_PACKAGE,
  loadHead: async (model, options) => (await import("./nemo-ctc.js")).loadNemoCtc(model, options),
});
