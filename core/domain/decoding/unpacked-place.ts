/** Where unpacked language models are kept; it may be sent to another thread. */
export interface UnpackedPlace {
  /** Made when there is something to keep. */
  readonly folder: string;
  /** Free space that stays on its disk. */
  readonly leastFreeBytes: number;
}

/** The folder of a service's data folder that they are kept in. */
export const LANGUAGE_MODELS_FOLDER = "language-models";
