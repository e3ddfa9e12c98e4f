import { requireDiarization } from "../../../core/domain/catalog/catalog.js";
import type { BilledTranscript } from "../../../core/domain/decoding/transcript.js";
import type { ServiceError } from "../../../core/domain/errors.js";
import { ratio } from "../../../core/domain/rounded.js";
import type { Departure } from "../../../core/ports/front.js";
import { acceptsEvents } from "../../../core/protocol/accepts-events.js";
import { errorEventBody } from "../../../core/protocol/error-body.js";
import { pickedDefaults } from "../../../core/protocol/organization-defaults.js";
import { parseTranscribeQuery } from "../../../core/protocol/transcribe-query.js";
import { toTranscription, usageHeaders } from "../../../core/protocol/transcription-response.js";
import { uploadOf } from "../audio-source.js";
import { EVENT_HEADERS, HEARTBEAT_MS } from "../events.js";
import type { Exchange } from "../exchange.js";
import { endWithBody, joinedBody, jsonInTurns, type LongBody, textBody } from "../long-body.js";
import { defaultsForFingerprint, modelForFingerprint } from "../once-by-key.js";
import { withSamples } from "../raw-samples.js";
import type { Handlers, RouteDeps } from "../router.js";
import { admitFile, type FileDeps, transcribeUpload } from "../transcribed-upload.js";

export function transcribeHandlers(
  deps: FileDeps & Pick<RouteDeps, "urls">,
): Handlers<"POST /v1/transcribe"> {
  return { "POST /v1/transcribe": (exchange) => transcribe(exchange, deps) };
}

async function transcribe(exchange: Exchange, deps: FileDeps & Pick<RouteDeps, "urls">): Promise<void> {
  const { request } = exchange;
  const { caller, key } = await admitFile(exchange, deps);
  const asked = parseTranscribeQuery(request.query, deps.conversations.catalog.hearing);
  const { timestamps: wantsTimes, hotWords, reading, speakers, channels, raw } = asked;
  if (speakers !== null) requireDiarization(deps.conversations.catalog);
  const upload = withSamples(await uploadOf(request, asked.urls, deps), raw);
  const events = acceptsEvents(request.header("accept")) ? new ProgressEvents(exchange) : null;
  const wishes = {
    ...{ model: asked.model.name, hotWords, reading, channels, ...pickedDefaults(asked) },
    ...(speakers !== null && { speakers }),
    ...(events !== null && { onProgress: (share: number) => events.progress(share) }),
  };
  const answer = async (transcript: BilledTranscript, departure: Departure) => {
    const transcription = toTranscription(transcript, wantsTimes);
    const body = await jsonInTurns(transcription);
    if (events !== null) return events.result(body, departure);
    const type = { "content-type": "application/json", "content-length": String(body.bytes) };
    exchange.start(200, { ...type, ...usageHeaders(transcription) });
    await endWithBody(exchange, body, departure);
  };
  const fingerprintParts = [
    wantsTimes,
    hotWords,
    ...modelForFingerprint(asked),
    ...(events === null ? [] : [{ events: true }]),
    ...(reading === null ? [] : [{ reading }]),
    // Without these options, a request keeps the fingerprint from before they existed.
    ...(speakers === null ? [] : [{ speakers }]),
    ...(channels === "mix" ? [] : [{ channels }]),
    ...(raw === null ? [] : [{ raw }]),
    ...defaultsForFingerprint(asked),
  ];
  const wanted = () => ({ fingerprintParts, wishes, answer });
  await transcribeUpload({ exchange, deps, caller, key, upload, wanted });
}

/** Smallest progress that is worth an event; progress bars show no finer steps. */
const LEAST_STEP = 0.005;

/**
 * Sends a response as server-sent events: `progress` during the work, then `result` or `error`. The response
 * starts with the first progress, so earlier errors still get a status. Only the result is stored for
 * retries.
 */
export class ProgressEvents {
  readonly #exchange: Exchange;
  #lastShare = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | null = null;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.onEnd(() => clearInterval(this.#heartbeat));
  }

  /** @param share share of the work that is done, 0 to 1 */
  progress(share: number): void {
    if (this.#exchange.isOver) return;
    this.#start();
    // A slow reader gets fewer events.
    if (this.#writing !== null || (share < this.#lastShare + LEAST_STEP && share < 1)) return;
    this.#lastShare = share;
    this.#send(`event: progress\ndata: ${JSON.stringify({ share: ratio(share) })}\n\n`);
  }

  /** @param result JSON without line breaks */
  async result(result: LongBody, departure: Departure): Promise<void> {
    this.#start();
    clearInterval(this.#heartbeat);
    await this.#writing;
    const body = joinedBody(textBody("event: result\ndata: "), result, textBody("\n\n"));
    await endWithBody(this.#exchange, body, departure);
  }

  #start(): void {
    if (this.#exchange.status !== null) return;
    this.#exchange.start(200, EVENT_HEADERS);
    // If a write has stalled, the error event could not be sent either.
    this.#exchange.lateFailure = (error) => (this.#writing === null ? failureEvent(error) : null);
    this.#heartbeat = setInterval(() => this.#writing ?? this.#send(":\n\n"), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  #send(text: string): void {
    const written = this.#exchange.writeAside(Buffer.from(text));
    // If the client has left, sending the result reports that.
    this.#writing = written
      .catch(() => {})
      .then(() => {
        this.#writing = null;
      });
  }
}

function failureEvent(error: ServiceError): Uint8Array {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(errorEventBody(error))}\n\n`);
}
