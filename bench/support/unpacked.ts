import { resolve } from "node:path";
import type { UnpackedPlace } from "../../core/domain/decoding/unpacked-place.js";

/** Shared cache of unpacked language models for tests and benches; they run in the repository's root. */
export const UNPACKED: UnpackedPlace = { folder: resolve("build/language-models"), leastFreeBytes: 0 };
