/** The parts of the interface that may have hosts of their own. */
export const SERVED_PARTS = ["synthesis", "transcription", "live"] as const;
export type ServedPart = (typeof SERVED_PARTS)[number];

/** Whether a service needs models of a task. */
export function servesTask(task: "synthesis" | "transcription", serve: readonly ServedPart[]): boolean {
  return serve.includes(task) || (task === "transcription" && serve.includes("live"));
}
