import { ServiceError } from "../../../core/domain/errors.js";
import type { UsagePeriod } from "../../../core/domain/usage/period.js";
import type { AccountReports, UsageSum } from "../../../core/ports/account-reports.js";
import type { Credits } from "../../../core/ports/console-store.js";
import { within } from "../postgres/within.js";
import type { PostgresReports } from "./reports.js";

const ANSWERS_WITHIN_MS = 3_000;

/** The console's figures for an organization's keys, who are told to come again when the database is away. */
export class PostgresAccountReports implements AccountReports {
  readonly #reports: PostgresReports;

  constructor(reports: PostgresReports) {
    this.#reports = reports;
  }

  credits(organizationId: string): Promise<Credits> {
    return ask(this.#reports.credits(organizationId));
  }

  usage(organizationId: string, period: UsagePeriod): Promise<readonly UsageSum[]> {
    return ask(this.#reports.usageBetween(organizationId, period));
  }
}

async function ask<T>(question: Promise<T>): Promise<T> {
  try {
    return await within(ANSWERS_WITHIN_MS, question);
  } catch (cause) {
    throw new ServiceError("AUTH_UNAVAILABLE", "credits and usage cannot be looked up at the moment", {
      cause,
    });
  }
}
