import { type Command, type CommandInput, UsageError } from "./command.js";
import { operatorsPart } from "./operators-part.js";

/** Of each engine on each provider. */
const MEASURED_SECONDS = 5;
const MOST_SECONDS = 60;

export const doctorCommand: Command = {
  usage: "doctor",
  summary:
    "Says what this machine has that models may run on: driver, CUDA and Vulkan libraries, what is missing and what brings it. " +
    "Tries each provider in a process of its own and measures each engine on it for about 5 s; ends with 1 when a provider of " +
    "EXECUTION_PROVIDERS does not work.",
  options: { json: { type: "boolean" }, "no-measure": { type: "boolean" }, seconds: { type: "string" } },
  optionHelp: [
    "--no-measure  try each provider with one small run, and measure nothing",
    "--seconds S   measure each engine for about S s, 5 unless told",
  ],
  examples: ["doctor", "doctor --no-measure --json"],
  run: doctor,
};

async function doctor(input: CommandInput): Promise<void> {
  const [argument] = input.positionals;
  if (argument !== undefined) throw new UsageError(`doctor takes no argument, received "${argument}"`);
  const seconds = input.options.number("seconds") ?? MEASURED_SECONDS;
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    throw new UsageError(`--seconds must be more than 0 and at most ${MOST_SECONDS}, received ${seconds}`);
  const { examine } = await operatorsPart(() => import("./doctor-report.js"));
  await examine(input, input.options.isSet("no-measure") ? null : 1_000 * seconds);
}
