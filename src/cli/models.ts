import { type Command, type CommandInput, UsageError, unknownAction } from "./command.js";
import { operatorsPart } from "./operators-part.js";
import { QUIET_HELP, QUIET_OPTION } from "./service-client.js";

const ACTIONS = ["list", "add", "verify", "use", "remove", "bundle", "quantize"] as const;

export const modelsCommand: Command = {
  usage:
    "models list | add NAME | verify [NAME] | use NAME | remove NAME | bundle NAME -o FILE | quantize NAME",
  summary:
    "Lists, adds and checks model packages, and says which of them requests without a model get. Works on MODELS_DIR, or on " +
    "`models` in DATA_DIR; a running service has the change when it is started again.",
  options: {
    json: { type: "boolean" },
    ...QUIET_OPTION,
    variant: { type: "string" },
    vad: { type: "string" },
    from: { type: "string" },
    trust: { type: "boolean" },
    sha256: { type: "string" },
    "accept-licence": { type: "boolean" },
    catalogue: { type: "string" },
    output: { type: "string", short: "o" },
  },
  optionHelp: [
    "--variant V  add: fp32, int8, as `list` shows them; the first when absent",
    "--vad V  add: voice activity, near (shipped) or silero (2.3 MB)",
    "--from PLACE  add: a folder with a package or with the files of NAME, a bundle, or a bundle's address",
    "--trust  add: takes files whose hash is not known, and keeps the hashes of what came",
    "--sha256 HASH  add: of the bundle that an address leads to",
    "--accept-licence  add: you have read a licence that restricts what the model may be used for",
    "--catalogue FILE  list, add: a catalogue of your own in place of models/catalogue.json",
    "-o, --output FILE  bundle: the tar to write",
    QUIET_HELP,
  ],
  examples: [
    "models list",
    "models add gigaam-multilingual --variant int8",
    "models add gigaam-multilingual --vad silero",
    "models use gigaam-multilingual-int8",
    "models verify",
    "models bundle gigaam-multilingual -o gigaam.tar",
    "models add --from gigaam.tar",
    "models quantize gigaam-multilingual",
  ],
  run: models,
};

async function models(input: CommandInput): Promise<void> {
  const [action, ...names] = input.positionals;
  const known = ACTIONS.find((each) => each === action);
  if (known === undefined) throw unknownAction(action, ACTIONS);
  refuseNames(known, names, input);
  const { MODEL_ACTIONS } = await operatorsPart(() => import("./model-actions.js"));
  await MODEL_ACTIONS[known](input, names[0] ?? null);
}

/** @throws {UsageError} when the action takes another number of names */
function refuseNames(
  action: (typeof ACTIONS)[number],
  names: readonly string[],
  { options }: CommandInput,
): void {
  const most = action === "list" ? 0 : 1;
  const canBeLeftOut =
    action === "list" || action === "verify" || (action === "add" && options.text("from") !== null);
  if (names.length > most) throw new UsageError(`${action} takes ${most === 0 ? "no NAME" : "one NAME"}`);
  if (names.length === 0 && !canBeLeftOut)
    throw new UsageError(`${action} takes one NAME: see \`dauys models list\``);
}
