/** Method, path, access, statuses of errors, headers of answers, parameters. */
type Specified = readonly [string, string, "key" | "open", number[], string[], string[]];

/** Decisions that apply to every request that costs credits. */
export const BILLED_STATUSES = [409, 422];
export const BILLED_HEADERS = ["Idempotent-Replayed", "Original-Request"];
export const BILLED_PARAMETER = "Idempotency-Key";

const BILLING = ["X-Svc-Audio-Seconds", "X-Svc-Credits", "X-Svc-Model"];

const LISTEN_PARAMETERS = [
  "channels",
  "encoding",
  "endpointing",
  "interim_results",
  "keyterm",
  "keywords",
  "language",
  "model",
  "multichannel",
  "numerals",
  "organization_defaults",
  "punctuate",
  "redact",
  "sample_rate",
  "smart_format",
  "utterance_end_ms",
  "vad_events",
];

const LISTEN_FILE_PARAMETERS = [
  ...["channels", "detect_language", "diarize", "encoding", "keyterm", "keywords", "language", "model"],
  "multichannel",
  ...[
    "numerals",
    "organization_defaults",
    "paragraphs",
    "punctuate",
    "redact",
    "sample_rate",
    "smart_format",
    "utt_split",
    "utterances",
  ],
  BILLED_PARAMETER,
];
const JOB_PARAMETERS = [
  ...["hotwords", "organization_defaults", "model", "timestamps", "display", "numerals", "redact", "url"],
  "webhook_url",
  ...["diarize", "speakers", "channels", "encoding", "sample_rate", "channel_count"],
  ...["x-filename", BILLED_PARAMETER],
];
const SPEAK_PARAMETERS = [
  ...["container", "encoding", "model", "organization_defaults", "sample_rate", "speed", BILLED_PARAMETER],
];

/** The endpoint table of the interface specification, followed by the endpoints decided later. */
export const SPECIFIED: readonly Specified[] = [
  [
    "POST",
    "/v1/tts",
    "key",
    [400, 401, 404, 429, 503],
    ["X-Svc-Chars"],
    ["encoding", "sample_rate", "timestamps", BILLED_PARAMETER],
  ],
  [
    "POST",
    "/v1/tts/stream",
    "key",
    [400, 401, 404, 429, 503],
    ["X-Svc-Stream"],
    ["encoding", "frames", "sample_rate", "timestamps", BILLED_PARAMETER],
  ],
  ["POST", "/v1/audio/speech", "key", [400, 401, 429], [], [BILLED_PARAMETER]],
  [
    "POST",
    "/v1/transcribe",
    "key",
    [400, 401, 413, 429],
    BILLING,
    [
      "hotwords",
      "organization_defaults",
      "model",
      "timestamps",
      "diarize",
      "speakers",
      "display",
      "numerals",
      "redact",
      ...["channels", "encoding", "sample_rate", "channel_count"],
      "url",
      "x-filename",
      BILLED_PARAMETER,
    ],
  ],
  ["POST", "/v1/audio/transcriptions", "key", [400, 401, 413, 429], [], [BILLED_PARAMETER]],
  ["GET", "/v1/models", "open", [], [], []],
  ["GET", "/v1/voices", "open", [], [], ["model"]],
  ["GET", "/health", "open", [], [], []],
  [
    "GET",
    "/v1/stream",
    "key",
    [401, 429, 503],
    [],
    [
      "eou_ms",
      "endpointing",
      "hotwords",
      "organization_defaults",
      "model",
      "partials",
      "words",
      "display",
      "numerals",
      "redact",
      ...["channels", "channel_count"],
      "encoding",
      "token",
    ],
  ],
  [
    "GET",
    "/v1/tts/live",
    "key",
    [400, 401, 404, 429, 503],
    [],
    [
      ...["model", "voice", "speed", "nfe", "normalize", "seed", "room_tone"],
      ...["encoding", "organization_defaults", "sample_rate", "token"],
    ],
  ],
  ["GET", "/v1/listen", "key", [400, 401, 429, 503], [], LISTEN_PARAMETERS],
  ["POST", "/v1/listen", "key", [400, 401, 413, 429, 503], BILLING, LISTEN_FILE_PARAMETERS],
  ["POST", "/v1/speak", "key", [400, 401, 413, 429, 503], ["X-Svc-Chars"], SPEAK_PARAMETERS],
  [
    "GET",
    "/v1/speak",
    "key",
    [400, 401, 429, 503],
    [],
    SPEAK_PARAMETERS.filter((name) => name !== BILLED_PARAMETER && name !== "container"),
  ],
  [
    "GET",
    "/v2/listen",
    "key",
    [400, 401, 429, 503],
    [],
    [
      ...[
        "eager_eot_threshold",
        "encoding",
        "eot_threshold",
        "eot_timeout_ms",
        "keyterm",
        "model",
        "numerals",
      ],
      ...["organization_defaults", "punctuate", "redact", "sample_rate", "smart_format"],
    ],
  ],
  ["POST", "/v1/jobs/transcriptions", "key", [400, 401, 404, 413, 429, 503], [], JOB_PARAMETERS],
  ["GET", "/v1/jobs", "key", [400, 401, 503], [], ["after", "idempotency_key", "limit", "status"]],
  ["GET", "/v1/jobs/{id}", "key", [400, 401, 404, 503], [], ["id"]],
  ["DELETE", "/v1/jobs/{id}", "key", [400, 401, 404, 503], [], ["id"]],
  ["GET", "/v1/jobs/{id}/result", "key", [400, 401, 404, 409, 503], [], ["format", "id"]],
  ["GET", "/v1/jobs/webhook-secret", "key", [400, 401, 503], [], []],
  ["POST", "/v1/jobs/webhook-secret", "key", [400, 401, 503], [], []],
  ["POST", "/v1/stream/token", "key", [401], [], []],
  ["GET", "/v1/realtime", "key", [400, 401, 429, 503], [], ["intent", "model", "organization_defaults"]],
  ["POST", "/v1/realtime/client_secrets", "key", [400, 401, 503], [], []],
  ["POST", "/v1/realtime/transcription_sessions", "key", [400, 401, 503], [], []],
  ["GET", "/v1/audio/models", "open", [], [], []],
  ["GET", "/v1/audio/voices", "open", [], [], []],
  ["GET", "/ready", "open", [503], [], []],
  ["GET", "/v1/balance", "key", [400, 401, 503], [], []],
  ["GET", "/v1/key", "key", [400, 401, 403, 503], [], []],
  ["GET", "/v1/usage", "key", [400, 401, 429, 503], [], ["from", "to"]],
  ["GET", "/v1/vocabulary", "key", [400, 401, 503], [], []],
  ["PUT", "/v1/vocabulary", "key", [400, 401, 413, 503], [], []],
];

export const SOCKETS = [
  ...["GET /v1/stream", "GET /v1/listen", "GET /v1/speak", "GET /v2/listen"],
  ...["GET /v1/realtime", "GET /v1/tts/live"],
];
