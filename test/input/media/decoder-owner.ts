// A process that owns an endless decoder process, for a test that kills the owner.
import { LimitedChildren } from "../../../src/input/media/container-decoder.js";

const limits = { cpuSeconds: 60, wallMs: 60_000, memoryBytes: null, fileBytes: 1 << 20 };
await new LimitedChildren().run(["sleep", process.argv[2]!], limits, new AbortController().signal);
