/**
 * Keeps onnxruntime from reporting its use: from 1.30 on it collects events about sessions and the machine in the user's
 * home and uploads them to its maker, unless this is set before its first session.
 *
 * Native code reads the environment of the process, which only the main thread writes: what a worker thread sets is its
 * own copy. So this is imported wherever worker threads are started, and wherever sessions are made.
 */
process.env["ORT_DISABLE_TELEMETRY"] = "1";
