export interface PackageFile {
  readonly path: string;
  readonly sha256: string;
  /** For a graph with weights in other files: the names of those files in the manifest. */
  readonly external?: readonly string[] | undefined;
}

export interface ManifestFile extends PackageFile {
  /**
   * For a graph: the same function in operators that GPUs support; absent if the graph itself runs on GPUs.
   */
  readonly gpu?: PackageFile | undefined;
}

/** A file of a package, with its name in the manifest and whether it is a GPU variant. */
export type ListedFile<F> = Omit<F, "gpu"> & { readonly name: string; readonly isForGpu: boolean };

/** Lists every file of a package once, in the manifest's order; a graph's GPU variant follows the graph. */
export function packageFiles<F extends object>(
  files: Readonly<Record<string, F & { readonly gpu?: F | undefined }>>,
): ListedFile<F>[] {
  return Object.entries(files).flatMap(([name, { gpu, ...file }]) => [
    { ...(file as F), name, isForGpu: false },
    ...(gpu === undefined ? [] : [{ ...gpu, name, isForGpu: true }]),
  ]);
}
