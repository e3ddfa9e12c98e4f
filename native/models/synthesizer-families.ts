import { F5 } from "./f5/f5.js";
import type { F5Manifest } from "./f5/manifest.js";
import type { GraphOptions } from "./graph.js";
import type { MatchaManifest } from "./matcha/manifest.js";
import { Matcha } from "./matcha/matcha.js";
import type { ModelPackage, SynthesizerManifest } from "./package.js";
import type { PieceModel } from "./synthesizer.js";

/**
 * Loads public weights by the family their manifest names; null for `flow-matching`, whose steps are shared.
 * @throws {ServiceError} `MODEL_BROKEN` naming the file that is missing, damaged or of another interface
 */
export async function loadPieceModel(
  model: ModelPackage<SynthesizerManifest>,
  options: GraphOptions,
): Promise<PieceModel | null> {
  switch (model.manifest.family) {
    case "flow-matching":
      return null;
    case "matcha":
      return Matcha.load(model as ModelPackage<MatchaManifest>, options);
    case "f5":
      return F5.load(model as ModelPackage<F5Manifest>, options);
  }
}
