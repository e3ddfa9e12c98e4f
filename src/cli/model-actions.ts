import type { CommandInput } from "./command.js";
import { addModel } from "./model-add.js";
import { bundleModel } from "./model-bundle.js";
import { removeModel, useModel } from "./model-choice.js";
import { listModels } from "./model-list.js";
import { quantizeModel } from "./model-quantize.js";
import { verifyModels } from "./model-verify.js";

/** Actions of `dauys models` by name. */
export const MODEL_ACTIONS = {
  list: listModels,
  add: addModel,
  verify: verifyModels,
  use: useModel,
  remove: removeModel,
  bundle: bundleModel,
  quantize: quantizeModel,
} satisfies Readonly<Record<string, (input: CommandInput, name: string | null) => Promise<void>>>;
