/**
 * Disables telemetry in onnxruntime: from 1.30 on it collects events about sessions and the machine in the
 * user's home and uploads them, unless this is set before the first session.
 *
 * Native code reads the process's environment, but a worker thread sets only its own copy. So every file that
 * starts worker threads or creates sessions imports this one.
 */
process.env["ORT_DISABLE_TELEMETRY"] = "1";
