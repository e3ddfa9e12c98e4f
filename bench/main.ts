import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchOptions } from "./bench-options.js";

const HELP = `npm run bench -- NAME [--smoke] [options of the bench]
npm run bench -- --smoke      every micro bench and the capacity model in smoke size

Results go to bench/results/NAME.json; a smoke run saves nothing.`;
const ROOMS = ["micro", "capacity", "e2e"] as const;

/** The exports of a bench file. */
interface BenchModule {
  run(options: BenchOptions): Promise<void>;
}

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const smoke = argv.includes("--smoke");
  const name = argv.find((argument) => !argument.startsWith("-"));
  const args = argv.filter((argument) => argument !== "--smoke" && argument !== name);
  const found = ROOMS.flatMap((room) => benchesIn(room).map((bench) => ({ room, bench })));
  const chosen = found.filter(({ room, bench }) => (name === undefined ? room !== "e2e" : bench === name));
  if ((name === undefined && !smoke) || chosen.length === 0) {
    console.error(`${HELP}\n\nNAME is one of ${found.map(({ bench }) => bench).join(", ")}`);
    return 2;
  }
  for (const { room, bench } of chosen) {
    const module = (await import(`./${room}/${bench}.js`)) as BenchModule;
    await module.run({ smoke, args });
  }
  return 0;
}

function benchesIn(room: (typeof ROOMS)[number]): string[] {
  const folder = fileURLToPath(new URL(`${room}/`, import.meta.url));
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith(".js"))
      .map((file) => file.slice(0, -".js".length))
      .sort();
  } catch (error) {
    // Modules without benches have no folder in `dist`.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
