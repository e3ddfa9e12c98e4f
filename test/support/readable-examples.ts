import { readFileSync } from "node:fs";

export const READABLE_PAGE = "docs/readable-text.md";

/** A command in an example. */
interface Step {
  readonly args: readonly string[];
  /** The output that the page shows. */
  readonly output: string;
}

/** Returns the commands of the examples in `docs/readable-text.md`, block by block. */
export function readableExamples(): readonly (readonly Step[])[] {
  const [, section = ""] = /^## Examples\n(.*?)^## /ms.exec(readFileSync(READABLE_PAGE, "utf8")) ?? [];
  return [...section.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = ""]) =>
    block
      .split(/^\$ dauys /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...output] = step.split("\n");
        const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
        return { args, output: output.join("\n").trim() };
      }),
  );
}
