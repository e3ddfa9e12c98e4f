/** Parts of the interface that may run on separate hosts. */
export const SERVED_PARTS = ["synthesis", "transcription", "live"] as const;
export type ServedPart = (typeof SERVED_PARTS)[number];

/** Returns whether a service needs models of a task. */
export function servesTask(task: "synthesis" | "transcription", serve: readonly ServedPart[]): boolean {
  return serve.includes(task) || (task === "transcription" && serve.includes("live"));
}
