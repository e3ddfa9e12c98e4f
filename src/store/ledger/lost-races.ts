/** Tries of one change; a second has always been enough. */
const TRIES = 3;

/**
 * Runs a change of the ledger again when PostgreSQL itself lost a race over it; nothing was changed then. `run` must be a
 * statement, or a transaction of its own, that may be repeated.
 */
export async function afterLostRaces<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (tries === TRIES || !isLostRace(error)) throw error;
    }
  }
}

/**
 * Two that are known. Version 18 says "new multixact has more than one updating member" (XX000) when two transactions update a
 * row that a third holds on to by its key, some once in thousands of changes at once. And a statement that waited for a hold,
 * whose opening or extension was not yet there when it began, checks the account as it was then, with too little held, before
 * it finds that there is a newer one.
 */
function isLostRace(error: unknown): boolean {
  const { code, message, table_name } = error as Readonly<Record<"code" | "message" | "table_name", unknown>>;
  if (code === "23514") return table_name === "accounts";
  return code === "XX000" && String(message).includes("multixact");
}
