import { runService } from "./service/process.js";

runService();
