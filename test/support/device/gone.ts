const VARIABLE = "PRETENDED_DEVICE_GONE";

/** For the main thread: workers that begin from now on find the device gone, as they would in a process that has lost it. */
export function loseDevice(): void {
  process.env[VARIABLE] = "true";
}

export function isDeviceGone(): boolean {
  return process.env[VARIABLE] !== undefined;
}
