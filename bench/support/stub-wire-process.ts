// A stub of our live wire in a separate process: `node stub-wire-process.js FINAL_MS PARTIAL_MS TEXT` prints
// its address, and ends with its standard input.
import { startStubWire } from "./stub-wire.js";

const [, , finalMs = "", partialMs = "", text = ""] = process.argv;
const stub = await startStubWire({ finalMs: Number(finalMs), partialMs: Number(partialMs) }, text);
console.log(stub.url);
process.stdin.resume().once("end", () => process.exit(0));
