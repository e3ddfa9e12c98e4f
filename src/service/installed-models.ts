import {
  type Catalog,
  type CatalogVoice,
  type HearingModel,
  ModelList,
  type SpeakingModel,
} from "../../core/domain/catalog/catalog.js";
import { asServiceError, ServiceError } from "../../core/domain/errors.js";
import { SPEECH_RATE_HZ } from "../../core/domain/synthesis/speech-rate.js";
import { PLAIN_MANNER } from "../../core/domain/synthesis/voice-manner.js";
import type { Log } from "../../core/observe/log.js";
import { recognizerFamilyOf, synthesizerFamilyOf } from "../../native/models/families.js";
import { type BrokenPackage, readPackage, surveyPackages } from "../../native/models/find-packages.js";
import type {
  DiarizationManifest,
  ManifestVoice,
  ModelManifest,
  PunctuationManifest,
  RecognizerManifest,
  SynthesizerManifest,
} from "../../native/models/manifest.js";
import type { ModelPackage, PackageFolder } from "../../native/models/package.js";
import { PUNCTUATION_FOLDER } from "../../native/models/punctuation/word-weights.js";
import { alphabetOf, writesMarks } from "../../native/models/tokens.js";
import { chooseDefault, readDefaults, SHIPPED_IDS } from "../models/defaults.js";
import { type ModelFolders, modelFolders } from "../models/folders.js";
import type { Config } from "../settings/settings.js";

export interface InstalledModels {
  /** Recognisers, the default first. */
  readonly recognizers: readonly PackageFolder<RecognizerManifest>[];
  /** Synthesizers, the default first. */
  readonly synthesizers: readonly PackageFolder<SynthesizerManifest>[];
  /** The model that adds punctuation and capitals to transcripts. */
  readonly punctuation: ModelPackage<PunctuationManifest>;
  /** The model that tells speakers apart; null if none is installed. */
  readonly diarization: ModelPackage<DiarizationManifest> | null;
  /** The usable models, as clients see them. */
  readonly catalog: Catalog;
  readonly broken: readonly BrokenPackage[];
}

interface SurveyedFolders {
  readonly packages: readonly PackageFolder[];
  readonly broken: readonly BrokenPackage[];
}

/**
 * Reads the packages in all models folders. Broken packages are logged and skipped, unless one is the default
 * for its task.
 *
 * @throws {ServiceError} `MODEL_BROKEN` if a task has no package, or its default is broken or not installed
 */
export async function readInstalledModels(
  config: Pick<Config, "modelsDir" | "dataDir">,
  log: Log,
): Promise<InstalledModels> {
  const folders = modelFolders(config);
  const found = await surveyFolders(folders, log);
  const broken = [...found.broken];
  const defaultFirst = await ranking(folders, found);
  const synthesizers = defaultFirst<SynthesizerManifest>("synthesis");
  const punctuation = await punctuationOf(folders, found);
  const diarization = await diarizationOf(folders, found);
  const recognizers: PackageFolder<RecognizerManifest>[] = [];
  const hearing: HearingModel[] = [];
  for (const model of defaultFirst<RecognizerManifest>("transcription")) {
    try {
      hearing.push(await toHearingModel(model));
      recognizers.push(model);
    } catch (error) {
      if (recognizers.length === 0) throw error;
      broken.push({ folder: model.folder, id: model.manifest.id, error: asServiceError(error) });
    }
  }
  for (const { folder, error } of broken) log.error({ folder, err: error }, "broken model package skipped");
  const catalog = {
    speaking: new ModelList(synthesizers.map(toSpeakingModel)),
    hearing: new ModelList(hearing),
    ...(diarization !== null && { diarization: { name: diarization.manifest.id, isServed: () => true } }),
  };
  return { synthesizers, recognizers, punctuation, diarization, catalog, broken };
}

/** Returns the default model for punctuation; if no package is installed, the shipped model. */
async function punctuationOf(
  folders: ModelFolders,
  { packages, broken }: SurveyedFolders,
): Promise<ModelPackage<PunctuationManifest>> {
  const defaults = await readDefaults(folders.install);
  const wanted = defaults.punctuation ?? SHIPPED_IDS.punctuation;
  const unusable = broken.find(({ id }) => id === wanted);
  if (unusable !== undefined) throw unusable.error;
  const chosen = chooseDefault<PunctuationManifest>(packages, "punctuation", {
    defaults,
    folder: folders.install,
  });
  return await readPackage<PunctuationManifest>(chosen?.folder ?? PUNCTUATION_FOLDER, "punctuation");
}

/** Returns the default model for diarization; null if no package is installed. */
async function diarizationOf(
  folders: ModelFolders,
  { packages, broken }: SurveyedFolders,
): Promise<ModelPackage<DiarizationManifest> | null> {
  const defaults = await readDefaults(folders.install);
  const unusable = broken.find(({ id }) => id === defaults.diarization && id !== undefined);
  if (unusable !== undefined) throw unusable.error;
  const folder = folders.install;
  const chosen = chooseDefault<DiarizationManifest>(packages, "diarization", { defaults, folder });
  return chosen === null ? null : await readPackage<DiarizationManifest>(chosen.folder, "diarization");
}

/** Returns a function that lists the packages for a task, the default first. */
async function ranking(
  folders: ModelFolders,
  { packages, broken }: SurveyedFolders,
): Promise<<M extends ModelManifest>(task: M["task"]) => readonly PackageFolder<M>[]> {
  const folder = folders.install;
  const defaults = await readDefaults(folder);
  return <M extends ModelManifest>(task: M["task"]) => {
    const ofTask = packages.filter(({ manifest }) => manifest.task === task) as PackageFolder<M>[];
    const wanted = defaults[task] ?? SHIPPED_IDS[task];
    // Fail, because a fallback would silently use weights that the operator did not choose.
    const unusable = broken.find(({ id }) => id === wanted) ?? (ofTask.length === 0 ? broken[0] : undefined);
    if (unusable !== undefined) throw unusable.error;
    const chosen = chooseDefault<M>(packages, task, { defaults, folder });
    if (chosen !== null) return [chosen, ...ofTask.filter((model) => model !== chosen)];
    const places = folders.read.join(" or ");
    throw new ServiceError("MODEL_BROKEN", `Cannot start: no model package for ${task} in ${places}`);
  };
}

/** Surveys all folders. If packages share an ID, whether broken or not, the earlier folder and name wins. */
async function surveyFolders({ read }: ModelFolders, log: Log): Promise<SurveyedFolders> {
  const packages: PackageFolder[] = [];
  const broken: BrokenPackage[] = [];
  const taken = new Map<string, string>();
  const take = (id: string, folder: string) => {
    const inUse = taken.get(id);
    if (inUse === undefined) taken.set(id, folder);
    else log.warn({ id, folder, inUse }, "model package hidden by another one with the same ID");
    return inUse === undefined;
  };
  for (const modelsFolder of read) {
    const found = await surveyFolder(modelsFolder);
    packages.push(...found.packages.filter(({ folder, manifest }) => take(manifest.id, folder)));
    broken.push(...found.broken.filter(({ folder, id }) => take(id, folder)));
  }
  return { packages: packages.toSorted((a, b) => a.manifest.id.localeCompare(b.manifest.id)), broken };
}

/** Surveys a folder, which does not exist until the first package is added. */
async function surveyFolder(folder: string): Promise<SurveyedFolders> {
  try {
    return await surveyPackages(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { packages: [], broken: [] };
    throw error;
  }
}

/** @throws {ServiceError} `MODEL_BROKEN` if the vocabulary cannot be read */
async function toHearingModel({
  folder,
  manifest,
}: PackageFolder<RecognizerManifest>): Promise<HearingModel> {
  const family = recognizerFamilyOf(manifest);
  const model = await readPackage<RecognizerManifest>(folder, "transcription");
  const vocabulary = await family.vocabulary(model);
  return {
    ...toEntry(manifest),
    task: "transcription",
    sample_rate: manifest.sampleRateHz,
    family: family.name,
    alphabet: family.can.hotWords ? alphabetOf(vocabulary) : new Set(),
    writes_marks: writesMarks(vocabulary),
    live_partials: family.can.livePartials,
  };
}

function toSpeakingModel({ manifest }: PackageFolder<SynthesizerManifest>): SpeakingModel {
  const { can } = synthesizerFamilyOf(manifest);
  return {
    ...toEntry(manifest),
    task: "synthesis",
    // Workers resample voices that have a different rate.
    sample_rate: SPEECH_RATE_HZ,
    voices: manifest.voices.map(toCatalogVoice),
    default_voice: manifest.defaultVoice,
    word_times: can.wordTimes(manifest),
    solver_steps: can.solverSteps,
  };
}

function toCatalogVoice({ name, gender, style, best_for, ...manner }: ManifestVoice): CatalogVoice {
  const {
    pace = PLAIN_MANNER.pace,
    breath = PLAIN_MANNER.breath,
    melody = PLAIN_MANNER.melody,
    roomToneHz = PLAIN_MANNER.roomToneHz,
  } = manner;
  return { name, gender, style, best_for, manner: { pace, breath, melody, roomToneHz } };
}

function toEntry({ id, languages, notes, created }: ModelManifest) {
  return {
    name: id,
    lang: languages.join("-"),
    notes: notes ?? null,
    created: created ?? null,
  };
}
