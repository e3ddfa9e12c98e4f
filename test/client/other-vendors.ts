/** Paths of other vendors' interfaces, which have their own clients. */
export const OTHER_VENDORS: readonly string[] = [
  "/v1/audio/speech",
  "/v1/audio/transcriptions",
  "/v1/listen",
  "/v1/speak",
  "/v2/listen",
  "/v1/realtime",
  "/v1/realtime/client_secrets",
  "/v1/realtime/transcription_sessions",
  "/v1/audio/models",
  "/v1/audio/voices",
];
