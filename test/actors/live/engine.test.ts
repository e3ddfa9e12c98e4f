import { liveEngine } from "../../support/engines.js";
import { liveEngineContract } from "./engine-contract.js";

liveEngineContract("worker threads", liveEngine);
