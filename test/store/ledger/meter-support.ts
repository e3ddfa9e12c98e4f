import { join } from "node:path";
import type { TestContext } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import { systemClock } from "../../../core/ports/clock.js";
import { HoldChanges } from "../../../src/store/ledger/hold-changes.js";
import { HoldJournal } from "../../../src/store/ledger/hold-journal.js";
import { newServiceId, PostgresUsageMeter } from "../../../src/store/ledger/usage-meter.js";
import { temporaryFolder } from "../../support/folders.js";
import { SILENT } from "../../support/silent-log.js";
import type { LedgerTables } from "./ledger-support.js";

export const RATE_HZ = 16_000;
/** The free grant of an organization. */
export const CREDITS = 25_000;
/** Longer than any running service is silent on a busy machine. */
export const RULES = { answerMs: 3_000, heartbeatMs: 50, silentMs: 30_000, journalMs: 20, closeMs: 5_000 };
/** For services that must find another one silent. */
export const IMPATIENT = { silentMs: 400 };

/** Starts the meter of one service, which closes with the test. */
export async function startMeter(ledger: LedgerTables, t: TestContext, rules: Partial<typeof RULES> = {}) {
  const { journal } = HoldJournal.open(join(await temporaryFolder(), "usage-journal"), SILENT);
  const meter = new PostgresUsageMeter(
    {
      ...ledger,
      changes: new HoldChanges(ledger.sql),
      journal,
      tariffs: DEFAULT_TARIFFS,
      clock: systemClock,
      log: SILENT,
      rules: { ...RULES, ...rules },
    },
    newServiceId(),
  );
  await meter.start(null);
  t.after(() => meter.close());
  return meter;
}

export async function newOrganization(ledger: LedgerTables): Promise<string> {
  return (await ledger.organizations.create("test")).id;
}

export async function balanceOf(
  ledger: LedgerTables,
  organizationId: string,
): Promise<{ balance: number; held: number }> {
  const { balance, held } = (await ledger.accounts.find(organizationId))!;
  return { balance, held };
}

export function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}
