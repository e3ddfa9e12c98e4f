import { type Command, type CommandInput, UsageError, unknownAction } from "./command.js";
import { operatorModules } from "./operator-store.js";
import { QUIET_OPTION } from "./service-client.js";

const ACTIONS = ["list", "add", "verify", "use", "remove", "bundle", "quantize"] as const;

export const modelsCommand: Command = {
  usage: "models ACTION [NAME]",
  summary: "Add, check, choose and remove models",
  description: "Add, check, choose and remove model packages.",
  actions: [
    ["list", "List installed models and those in the catalogue"],
    ["add NAME", "Download and install a model"],
    ["add --from PLACE", "Install a package or a bundle"],
    ["verify [NAME]", "Check the hashes of all files"],
    ["use NAME", "Make a model the default for its task"],
    ["remove NAME", "Delete an installed model"],
    ["bundle NAME -o FILE", "Pack a model into a tar file"],
    ["quantize NAME", "Create an int8 variant of a model"],
  ],
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
    ["--variant V", "add: fp32 or int8, as `list` shows them (default: the first)"],
    ["--vad V", "add: voice activity detector, near (shipped) or silero (2.3 MB)"],
    ["--from PLACE", "add: a package folder, a folder with the files of NAME, a bundle or its URL"],
    ["--trust", "add: accept files without a known hash and record their hashes"],
    ["--sha256 HASH", "add: expected hash of a bundle from a URL"],
    ["--accept-licence", "add: confirm that you have read a licence that restricts use"],
    ["--catalogue FILE", "list, add: a catalogue to use instead of models/catalogue.json"],
    ["-o, --output FILE", "bundle: tar file to write"],
  ],
  note: "Packages are stored in MODELS_DIR or DATA_DIR/models. Restart a running service to apply changes.",
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
  checkNames(known, names, input);
  const { MODEL_ACTIONS } = await operatorModules(() => import("./model-actions.js"));
  await MODEL_ACTIONS[known](input, names[0] ?? null);
}

/** @throws {UsageError} if the number of names is wrong */
function checkNames(
  action: (typeof ACTIONS)[number],
  names: readonly string[],
  { options }: CommandInput,
): void {
  const most = action === "list" ? 0 : 1;
  const canBeLeftOut =
    action === "list" || action === "verify" || (action === "add" && options.text("from") !== null);
  if (names.length > most)
    throw new UsageError(`${action} accepts ${most === 0 ? "no" : "one"} NAME, received ${names.length}`);
  if (names.length === 0 && !canBeLeftOut)
    throw new UsageError(`${action} needs a NAME; see \`dauys models list\``);
}
