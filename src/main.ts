import { startEngineNode } from "./engine-node.js";
import { runService } from "./service/process.js";

runService({ startEngineNode });
