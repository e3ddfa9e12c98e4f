/** A file of a package and the hash it must have. */
export interface PackageFile {
  readonly path: string;
  readonly sha256: string;
  /** Of a graph whose weights lie in other files: their names among the package's files. */
  readonly external?: readonly string[] | undefined;
}

export interface ManifestFile extends PackageFile {
  /** Of a graph: the same function in operators that GPUs have; absent where the graph itself is that. */
  readonly gpu?: PackageFile | undefined;
}

/** A file of a package, and under which name and for what its manifest has it. */
export type ListedFile<F> = Omit<F, "gpu"> & { readonly name: string; readonly isForGpu: boolean };

/** Every file of a package, each once, in the manifest's order: a graph's variant for GPUs comes behind the graph. */
export function packageFiles<F extends object>(
  files: Readonly<Record<string, F & { readonly gpu?: F | undefined }>>,
): ListedFile<F>[] {
  return Object.entries(files).flatMap(([name, { gpu, ...file }]) => [
    { ...(file as F), name, isForGpu: false },
    ...(gpu === undefined ? [] : [{ ...gpu, name, isForGpu: true }]),
  ]);
}
