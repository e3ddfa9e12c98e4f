/** Where unpacked language models are stored; may be sent to another thread. */
export interface UnpackedPlace {
  /** Created on demand. */
  readonly folder: string;
  /** Free space to leave on its disk. */
  readonly leastFreeBytes: number;
}

/** Their subfolder of the data folder. */
export const LANGUAGE_MODELS_FOLDER = "language-models";
