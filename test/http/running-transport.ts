import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../core/observe/log.js";
import type { FrontKind } from "../../src/front/select-front.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { AnswerFiles } from "../../src/http/kept-answers.js";
import { SpeechBudget } from "../../src/http/running-work.js";
import { AddressPolicy } from "../../src/input/url/address-policy.js";
import { UrlFetcher } from "../../src/input/url/url-fetcher.js";
import { createTransport, type Transport, type TransportDeps } from "../../src/service/transport.js";
import { MemoryVocabularies } from "../support/memory-vocabularies.js";
import { clientSecrets, streamTokens } from "../support/stream-tokens.js";
import { FakeConversations, FakeKeys, FakeReports } from "./fake-conversations.js";
import { fakeJobs } from "./fake-jobs.js";

/** The fronts that can run on this machine. */
export const FRONTS: readonly FrontKind[] = typeof loadUwsBinding() === "string" ? ["node"] : ["node", "uws"];

/** Idempotency keys need the database, so the tests of the whole service cover them. */
const NO_KEYS: TransportDeps["idempotency"] = {
  claim: () => Promise.reject(new Error("this transport has no idempotency keys")),
  isKnown: () => Promise.reject(new Error("this transport has no idempotency keys")),
};

/** A transport over fakes that listens on a free port. */
export interface RunningTransport {
  readonly transport: Transport;
  readonly conversations: FakeConversations;
  readonly keys: FakeKeys;
  readonly reports: FakeReports;
  readonly vocabularies: MemoryVocabularies;
  readonly spoolDir: string;
  readonly logLines: string[];
  readonly base: string;
  readonly port: number;
  stop(): Promise<void>;
}

export async function startTransport(
  front: FrontKind,
  options: Partial<TransportDeps> = {},
): Promise<RunningTransport> {
  const spoolDir = await mkdtemp(join(tmpdir(), "spool-"));
  const answersDir = await mkdtemp(join(tmpdir(), "answers-"));
  const conversations = new FakeConversations();
  const keys = new FakeKeys();
  const reports = new FakeReports();
  const vocabularies = new MemoryVocabularies();
  const logLines: string[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line: string) => void logLines.push(line) },
  });
  const urls = new UrlFetcher({ policy: new AddressPolicy(["127.0.0.1/32"]) });
  const answers = await AnswerFiles.open({ folder: answersDir, capacityBytes: 0, log });
  const transport = createTransport({
    front,
    conversations,
    keys,
    log,
    spoolDir,
    urls,
    jobs: fakeJobs(),
    webhooks: urls,
    idempotency: NO_KEYS,
    reports,
    vocabularies,
    tokens: streamTokens(),
    secrets: clientSecrets(),
    answers,
    speechBudget: new SpeechBudget(Number.POSITIVE_INFINITY),
    isReady: () => true,
    ...options,
  });
  const port = await transport.listen("127.0.0.1", 0);
  const stop = async () => {
    await transport.close();
    answers.close();
    await rm(spoolDir, { recursive: true, force: true });
    await rm(answersDir, { recursive: true, force: true });
  };
  const base = `http://127.0.0.1:${port}`;
  return { transport, conversations, keys, reports, vocabularies, spoolDir, logLines, base, port, stop };
}
