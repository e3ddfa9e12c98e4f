import { type Command, type CommandInput, requireNoArguments, UsageError } from "./command.js";
import { operatorModules } from "./operator-store.js";

/** Seconds to measure each engine on each provider. */
const MEASURED_SECONDS = 5;
const MOST_SECONDS = 60;

export const doctorCommand: Command = {
  usage: "doctor [--no-measure] [--seconds S]",
  summary: "Show what this machine can run models on, and how fast",
  description:
    "List drivers and libraries and how to install missing ones, then test each execution provider and measure each engine.",
  options: { json: { type: "boolean" }, "no-measure": { type: "boolean" }, seconds: { type: "string" } },
  optionHelp: [
    ["--no-measure", "Test each provider with one small run, without measuring"],
    ["--seconds S", `Seconds to measure each engine (default: ${MEASURED_SECONDS}, at most ${MOST_SECONDS})`],
  ],
  note: "Exits with 1 if a provider of EXECUTION_PROVIDERS does not work.",
  examples: ["doctor", "doctor --no-measure --json"],
  run: doctor,
};

async function doctor(input: CommandInput): Promise<void> {
  requireNoArguments(input, "doctor");
  const seconds = input.options.number("seconds") ?? MEASURED_SECONDS;
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    throw new UsageError(`--seconds must be more than 0 and at most ${MOST_SECONDS}, received "${seconds}"`);
  const { examine } = await operatorModules(() => import("./doctor-report.js"));
  await examine(input, input.options.isSet("no-measure") ? null : 1_000 * seconds);
}
