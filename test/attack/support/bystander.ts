import { runLive } from "../../../bench/support/live-client.js";
import { joined, silence, speech } from "../../support/audio.js";
import { runInThread, type ThreadRun } from "./in-thread.js";

/** Messages that a well-behaved live client received during an attack. */
export interface BystanderReport {
  readonly finals: readonly {
    readonly text: string;
    /**
     * Delay after the last word was spoken, including the silence that ends an utterance.
     */
    readonly lagMs: number;
  }[];
  readonly closeCode: number;
}

interface BystanderArgs {
  readonly url: string;
  readonly key: string;
  readonly utterances: number;
}

const SENTENCE = "asterisk-ru-core/vm-goodbye.flac";
const GAP_SECONDS = 1;
/** Samples in 40 ms. */
const MESSAGE_SAMPLES = 640;

/**
 * Sends the same short sentence several times to a live session, at the pace of speech, from a separate
 * thread.
 */
export function startBystander(args: BystanderArgs): ThreadRun<BystanderReport> {
  return runInThread<BystanderArgs, BystanderReport>(import.meta.url, "speak", args);
}

/** Returns the number of samples in all sentences. */
export function samplesSpoken(utterances: number): number {
  return pcmOf(utterances).length;
}

function pcmOf(utterances: number): Int16Array {
  const one = joined(speech(SENTENCE), silence(GAP_SECONDS));
  return joined(...Array.from({ length: utterances }, () => one));
}

/** Runs on its thread, which looks it up by name. @public */
export async function speak({ url, key, utterances }: BystanderArgs): Promise<BystanderReport> {
  const pcm = pcmOf(utterances);
  const run = await runLive({ url, key, pcm, isPaced: true, messageSamples: MESSAGE_SAMPLES });
  const finals = run.received.flatMap(({ message, atMs }) =>
    message.type === "final"
      ? [{ text: message.text, lagMs: atMs - run.startedAtMs - message.end * 1_000 }]
      : [],
  );
  return { finals, closeCode: run.closeCode };
}
