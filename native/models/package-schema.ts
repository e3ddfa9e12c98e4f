import type { z } from "zod";
import type { ModelManifest } from "./manifest.js";

/** What a package of a family must say. */
export interface PackageSchema<M extends ModelManifest = ModelManifest, C = unknown> {
  readonly manifest: z.ZodType<M>;
  /** Names of its JSON files; one that the manifest does not name is `undefined` to the schema. */
  readonly jsonFiles: readonly string[];
  /** What these files say together, by their names. */
  contents(manifest: M): z.ZodType<C>;
}
