import { ServiceError } from "../errors.js";

export function brokenLanguageModel(reason: string, cause?: unknown): ServiceError {
  return new ServiceError("MODEL_BROKEN", `Cannot read the language model: ${reason}`, { cause });
}
