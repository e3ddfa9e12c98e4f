import { publicRecognizer } from "../public-recognizer.js";

export const NEMO_STREAMING_CTC = publicRecognizer({
  name: "nemo-streaming-ctc",
  can: { livePartials: true },
  schema: async () => (await import("./manifest.js")).NEMO_STREAMING_CTC_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./nemo-streaming-ctc.js")).loadNemoStreamingCtc(model, options),
});
