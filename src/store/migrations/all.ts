import type { Migration } from "../postgres/migrate.js";
import { organizationsAndKeys } from "./0001-organizations-and-keys.js";
import { ledger } from "./0002-ledger.js";
import { idempotencyKeys } from "./0003-idempotency-keys.js";
import { consoleTables } from "./0004-console.js";
import { passwordResets } from "./0005-password-resets.js";
import { keyMakers } from "./0006-key-makers.js";
import { audioOfKeptAnswers } from "./0007-audio-of-kept-answers.js";
import { originsOfSessions } from "./0008-origins-of-sessions.js";
import { usedTokens } from "./0009-used-tokens.js";
import { holdsAtOnce } from "./0010-holds-at-once.js";
import { attempts } from "./0011-attempts.js";
import { journalsOfServices } from "./0012-journals-of-services.js";
import { changesOfHolds } from "./0013-changes-of-holds.js";
import { runningKeys } from "./0014-running-keys.js";
import { jobQueue } from "./0015-job-queue.js";
import { jobs } from "./0016-jobs.js";
import { keyLimits } from "./0017-key-limits.js";
import { lowBalances } from "./0018-low-balances.js";
import { vocabularies } from "./0019-vocabularies.js";
import { nextJob } from "./0020-next-job.js";

/** All migrations in order. New ones are added at the end; released ones are never edited. */
export const MIGRATIONS: readonly Migration[] = [
  organizationsAndKeys,
  ledger,
  idempotencyKeys,
  consoleTables,
  passwordResets,
  keyMakers,
  audioOfKeptAnswers,
  originsOfSessions,
  usedTokens,
  holdsAtOnce,
  attempts,
  journalsOfServices,
  changesOfHolds,
  runningKeys,
  jobQueue,
  jobs,
  keyLimits,
  lowBalances,
  vocabularies,
  nextJob,
];
