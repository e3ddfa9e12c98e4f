import { ConnectionError } from "../client/errors.js";
import {
  type CaseResult,
  conformanceClip,
  mostCredits,
  runConformance,
  selectedCases,
} from "../conformance/conformance.js";
import { PATIENCE_MS } from "../conformance/server.js";
import {
  type Command,
  CommandError,
  type CommandInput,
  Options,
  onlyArgument,
  printLine,
  printRemark,
  UsageError,
} from "./command.js";
import { reasonOf } from "./failures.js";
import { openService, QUIET_OPTION, SERVICE_OPTIONS, serviceKey } from "./service-client.js";
import { hostUrls, STREAM_URL_OPTION, serviceUrl } from "./service-url.js";
import { aligned } from "./table.js";

export const conformCommand: Command = {
  usage: "conform [URL]",
  summary: "Show whether a server follows the live and speech protocols",
  description:
    "Run the documented requirements of `/v1/stream` and `/v1/tts/stream` against any server, and report each one that the server breaks.",
  options: {
    ...SERVICE_OPTIONS,
    ...STREAM_URL_OPTION,
    ...QUIET_OPTION,
    filter: { type: "string" },
    all: { type: "boolean" },
    list: { type: "boolean" },
  },
  optionHelp: [
    ["--filter TEXT", "Only cases whose number, section or requirement contains TEXT"],
    ["--all", "Also run cases that wait a minute or cost about 720 credits"],
    ["--list", "Print the cases without running them"],
    ["--json", "Print a report as JSON"],
  ],
  note: "Exits with 1 if a case fails. The key's organization is charged; the first line shows the maximum.",
  examples: ["conform https://speech.example.org", "conform --filter live --json"],
  run: conform,
};

async function conform(input: CommandInput): Promise<void> {
  const { options } = input;
  const filter = options.text("filter");
  const selection = { ...(filter !== null && { filter }), withLong: options.isSet("all") };
  const cases = selectedCases(selection);
  if (cases.length === 0) throw new UsageError(`no case contains "${filter}"; see \`dauys conform --list\``);
  if (options.isSet("list")) {
    const listed = cases.map(({ id, page, section, requirement }) => ({ id, page, section, requirement }));
    printLine(options.isSet("json") ? JSON.stringify(listed) : tableOf(listed));
    return;
  }
  const target = withUrl(input);
  const client = await openService(target);
  const { url } = await serviceUrl(target);
  const clip = await conformanceClip();
  const most = mostCredits(selection, clip);
  printRemark(input, `${cases.length} cases against ${url}, at most ${most} credits`);
  const balance = () => client.balance({ maxRetries: 0 }).catch(unlessUnreachable);
  const before = await balance();
  const streamUrl = hostUrls(target).streamUrl ?? url;
  const server = {
    baseUrl: url,
    streamUrl,
    key: await serviceKey(target),
    clip,
    isPaced: true,
    patienceMs: PATIENCE_MS,
  };
  const { results } = await runConformance(server, selection).catch((error: unknown) => {
    throw new CommandError(`cannot run the cases against ${url}: ${causeOf(error)}`, { cause: error });
  });
  const after = await balance();
  const used = before === null || after === null ? null : before.balance - after.balance;
  print(input, { url, results, most, used });
  const failures = results.filter(({ status }) => status === "failed").length;
  if (failures > 0) throw new CommandError(`${failures} of ${results.length} cases failed`);
}

/** Returns null for a server that has no balance. */
function unlessUnreachable(error: unknown): null {
  if (error instanceof ConnectionError) throw error;
  return null;
}

/** Uses the address from the argument, if it is given there. */
function withUrl(input: CommandInput): CommandInput {
  if (input.positionals.length === 0) return input;
  const url = onlyArgument(input, "URL");
  if (input.options.text("url") !== null) throw new UsageError("give the URL once: as argument or as --url");
  const kept = ["key", "stream-url"].map((name) => [name, input.options.text(name) ?? undefined]);
  return { ...input, positionals: [], options: new Options({ ...Object.fromEntries(kept), url }) };
}

interface Outcome {
  readonly url: string;
  readonly results: readonly CaseResult[];
  readonly most: number;
  readonly used: number | null;
}

function print(input: CommandInput, { url, results, most, used }: Outcome): void {
  const count = (status: CaseResult["status"]) => results.filter((each) => each.status === status).length;
  const counts = { passed: count("passed"), failed: count("failed"), skipped: count("skipped") };
  if (input.options.isSet("json")) {
    printLine(JSON.stringify({ url, ...counts, credits_at_most: most, credits_used: used, cases: results }));
    return;
  }
  printLine(tableOf(results));
  printLine(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  printRemark(input, used === null ? "the server reports no balance" : `${used} credits used`);
}

function tableOf(
  rows: readonly (Pick<CaseResult, "id" | "page" | "section" | "requirement"> & Partial<CaseResult>)[],
): string {
  const lines = aligned(
    rows.map(({ status, id, section, requirement }) => [
      ...(status === undefined ? [] : [status]),
      ...[id, requirement, section],
    ]),
  );
  return rows.map((row, index) => [lines[index]!, ...reasonsOf(row)].join("\n")).join("\n");
}

function reasonsOf(row: Partial<CaseResult>): readonly string[] {
  if (row.status === "failed") return [`  expected: ${row.expected}`, `  received: ${row.received}`];
  return row.status === "skipped" ? [`  ${row.reason}`] : [];
}

function causeOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return reasonOf(cause ?? error);
}
