import type { CtcTwoPassContents } from "./ctc-two-pass/manifest.js";
import type { F5Manifest } from "./f5/manifest.js";
import type {
  DiarizationFamily,
  Family,
  PunctuationFamily,
  RecognizerFamily,
  SynthesizerFamily,
} from "./family.js";
import type { FlowMatchingContents } from "./flow-matching/manifest.js";
import type {
  DiarizationManifest,
  MelSynthesizerManifest,
  PunctuationManifest,
  RecognizerManifest,
  SynthesizerManifest,
} from "./manifest.js";
import type { MatchaContents, MatchaManifest } from "./matcha/manifest.js";
import { brokenModel } from "./package.js";
import { publicRecognizer } from "./public-recognizer.js";
import type { PunctCapSegManifest } from "./punct-cap-seg/manifest.js";
import type { PyannoteManifest } from "./pyannote/manifest.js";
import type { VitsContents, VitsManifest } from "./vits/manifest.js";

/** A streaming encoder with CTC and speech outputs, and a full-context second pass. */
const CTC_TWO_PASS: RecognizerFamily<RecognizerManifest, CtcTwoPassContents> = {
  name: "ctc-two-pass",
  task: "transcription",
  can: { livePartials: true, streams: true, windows: false, hotWords: true, forget: () => true },
  voiceSource: () => "model",
  schema: async () => (await import("./ctc-two-pass/manifest.js")).CTC_TWO_PASS_PACKAGE,
  load: async (model, options) =>
    (await import("./ctc-two-pass/ctc-two-pass.js")).CtcTwoPass.load(model, options),
  vocabulary: async ({ contents }) => contents.vocabulary,
};

const GIGAAM_CTC = publicRecognizer({
  name: "gigaam-ctc",
  streams: false,
  windows: true,
  schema: async () => (await import("./gigaam-ctc/manifest.js")).GIGAAM_CTC_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./gigaam-ctc/gigaam-ctc.js")).loadGigaamCtc(model, options),
});

const NEMO_CTC = publicRecognizer({
  name: "nemo-ctc",
  streams: false,
  windows: true,
  schema: async () => (await import("./nemo-ctc/manifest.js")).NEMO_CTC_PACKAGE,
  loadHead: async (model, options) => (await import("./nemo-ctc/nemo-ctc.js")).loadNemoCtc(model, options),
});

const NEMO_STREAMING_CTC = publicRecognizer({
  name: "nemo-streaming-ctc",
  streams: true,
  schema: async () => (await import("./nemo-streaming-ctc/manifest.js")).NEMO_STREAMING_CTC_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./nemo-streaming-ctc/nemo-streaming-ctc.js")).loadNemoStreamingCtc(model, options),
});

const ZIPFORMER2_CTC = publicRecognizer({
  name: "zipformer2-ctc",
  streams: true,
  schema: async () => (await import("./zipformer2-ctc/manifest.js")).ZIPFORMER2_CTC_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./zipformer2-ctc/zipformer2-ctc.js")).loadZipformer2Ctc(model, options),
});

const ZIPFORMER2_TRANSDUCER = publicRecognizer({
  name: "zipformer2-transducer",
  streams: true,
  schema: async () => (await import("./zipformer2-transducer/manifest.js")).ZIPFORMER2_TRANSDUCER_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./zipformer2-transducer/zipformer2-transducer.js")).loadZipformer2Transducer(
      model,
      options,
    ),
});

const ZIPFORMER_TRANSDUCER = publicRecognizer({
  name: "zipformer-transducer",
  streams: false,
  schema: async () => (await import("./zipformer-transducer/manifest.js")).ZIPFORMER_TRANSDUCER_PACKAGE,
  loadHead: async (model, options) =>
    (await import("./zipformer-transducer/zipformer-transducer.js")).loadZipformerTransducer(model, options),
});

const NEMO_TDT = publicRecognizer({
  name: "nemo-tdt",
  streams: false,
  takesHotWords: false,
  schema: async () => (await import("./nemo-tdt/manifest.js")).NEMO_TDT_PACKAGE,
  loadHead: async (model, options) => (await import("./nemo-tdt/nemo-tdt.js")).loadNemoTdt(model, options),
});

const T_ONE_CTC = publicRecognizer({
  name: "t-one-ctc",
  streams: true,
  schema: async () => (await import("./t-one-ctc/manifest.js")).T_ONE_CTC_PACKAGE,
  loadHead: async (model, options) => (await import("./t-one-ctc/t-one-ctc.js")).loadTOneCtc(model, options),
});

/** Text encoder, condition, solver step and vocoder; concurrent pieces share runs. */
const FLOW_MATCHING: SynthesizerFamily<MelSynthesizerManifest, FlowMatchingContents> = {
  name: "flow-matching",
  task: "synthesis",
  can: { wordTimes: () => true, solverSteps: true },
  schema: async () => (await import("./flow-matching/manifest.js")).FLOW_MATCHING_PACKAGE,
  load: async (model, options) => {
    const { FlowMatching } = await import("./flow-matching/flow-matching.js");
    return { shares: "steps", model: await FlowMatching.load(model, options) };
  },
};

/** Public weights whose graphs do not output durations. */
const MATCHA: SynthesizerFamily<MatchaManifest, MatchaContents> = {
  name: "matcha",
  task: "synthesis",
  can: { wordTimes: () => false, solverSteps: false },
  schema: async () => (await import("./matcha/manifest.js")).MATCHA_PACKAGE,
  load: async (model, options) => {
    const { Matcha } = await import("./matcha/matcha.js");
    return { shares: "nothing", model: await Matcha.load(model, options) };
  },
};

/** Public weights whose graphs do not output durations. */
const F5_TTS: SynthesizerFamily<F5Manifest, object> = {
  name: "f5",
  task: "synthesis",
  can: { wordTimes: () => false, solverSteps: false },
  schema: async () => (await import("./f5/manifest.js")).F5_PACKAGE,
  load: async (model, options) => {
    const { F5 } = await import("./f5/f5.js");
    return { shares: "nothing", model: await F5.load(model, options) };
  },
};

const VITS: SynthesizerFamily<VitsManifest, VitsContents> = {
  name: "vits",
  task: "synthesis",
  can: { wordTimes: ({ durations }) => durations !== undefined, solverSteps: false },
  schema: async () => (await import("./vits/manifest.js")).VITS_PACKAGE,
  load: async (model, options) => {
    const { Vits } = await import("./vits/vits.js");
    return { shares: "nothing", model: await Vits.load(model, options) };
  },
};

/** The shipped punctuation model for transcripts: word embeddings and recurrent layers. */
const WORD_GRU: PunctuationFamily<PunctuationManifest, object> = {
  name: "word-gru",
  task: "punctuation",
  schema: async () => (await import("./punctuation/manifest.js")).WORD_GRU_PACKAGE,
  load: async (model, options) =>
    (await import("./punctuation/punctuator.js")).Punctuator.loadPackage(model, options),
};

/** Public weights that label the pieces of a SentencePiece tokenizer. */
const PUNCT_CAP_SEG: PunctuationFamily<PunctCapSegManifest, object> = {
  name: "punct-cap-seg",
  task: "punctuation",
  schema: async () => (await import("./punct-cap-seg/manifest.js")).PUNCT_CAP_SEG_PACKAGE,
  load: async (model, options) =>
    (await import("./punct-cap-seg/punct-cap-seg.js")).PunctCapSeg.load(model, options),
};

/** Public weights: a segmentation of windows of 10 s, and embeddings of its speakers. */
const PYANNOTE: DiarizationFamily<PyannoteManifest, object> = {
  name: "pyannote",
  task: "diarization",
  schema: async () => (await import("./pyannote/manifest.js")).PYANNOTE_PACKAGE,
  load: async (model, options) => (await import("./pyannote/pyannote.js")).Pyannote.load(model, options),
};

/** Every model family. To add one, add a folder next to this file and an entry here. */
export const FAMILIES: readonly Family[] = [
  CTC_TWO_PASS,
  GIGAAM_CTC,
  NEMO_CTC,
  NEMO_STREAMING_CTC,
  ZIPFORMER2_CTC,
  ZIPFORMER2_TRANSDUCER,
  ZIPFORMER_TRANSDUCER,
  NEMO_TDT,
  T_ONE_CTC,
  FLOW_MATCHING,
  MATCHA,
  F5_TTS,
  VITS,
  WORD_GRU,
  PUNCT_CAP_SEG,
  PYANNOTE,
];

export function recognizerFamilyOf({ family: name }: Pick<RecognizerManifest, "family">): RecognizerFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "transcription") return family;
  throw brokenModel(`Cannot transcribe with a model of the family ${name}`);
}

export function synthesizerFamilyOf({ family: name }: SynthesizerManifest): SynthesizerFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "synthesis") return family;
  throw brokenModel(`Cannot speak with a model of the family ${name}`);
}

export function punctuationFamilyOf({
  family: name,
}: Pick<PunctuationManifest, "family">): PunctuationFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "punctuation") return family;
  throw brokenModel(`Cannot punctuate with a model of the family ${name}`);
}

export function diarizationFamilyOf({
  family: name,
}: Pick<DiarizationManifest, "family">): DiarizationFamily {
  const family = FAMILIES.find((candidate) => candidate.name === name);
  if (family?.task === "diarization") return family;
  throw brokenModel(`Cannot label speakers with a model of the family ${name}`);
}
