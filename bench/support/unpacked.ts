import { resolve } from "node:path";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";

/** Where tests and benches keep unpacked language models, all in one place; they run in the repository's root. */
export const UNPACKED: UnpackedPlace = { folder: resolve("build/language-models"), leastFreeBytes: 0 };
