import { publicRecognizer } from "../public-recognizer.js";

export const ZIPFORMER2_CTC = publicRecognizer({
  name: "zipformer2-ctc",
  can: { livePartials: true },
  schema: async () => (await import("./manifest.js")).ZIPFORMER2_CTC_PACKAGE,
  loadHead: async (model, options) => (await import("./zipformer2-ctc.js")).loadZipformer2Ctc(model, options),
});
