/** Where unpacked language models are stored; may be sent to another thread. */
export interface UnpackedPlace {
  /** Created on demand. */
  readonly folder: string;
  /** Free space to leave on its disk. */
  readonly leastFreeBytes: number;
}

/** Subfolder of the data folder for unpacked language models. */
export const LANGUAGE_MODELS_FOLDER = "language-models";
