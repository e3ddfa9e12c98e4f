/** @throws the signal's reason when it aborts before `delayMs` are over */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((settle, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      settle();
    }, delayMs);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
