const VARIABLE = "TEST_DEVICE_LOST";

/**
 * Called in the main thread. Workers that start later find the device lost, as in a process that has lost it.
 */
export function loseDevice(): void {
  process.env[VARIABLE] = "true";
}

export function isDeviceLost(): boolean {
  return process.env[VARIABLE] !== undefined;
}
