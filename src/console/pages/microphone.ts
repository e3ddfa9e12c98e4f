import workletUrl from "./microphone-worklet.ts?worker&url";

export const MICROPHONE_RATE_HZ = 16_000;

export interface Microphone {
  /** Closes the microphone; may be called twice. */
  stop(): void;
}

export interface MicrophoneOptions {
  /** Receives 16-bit mono PCM at 16 kHz, 40 ms at a time. */
  readonly onAudio: (pcm: Int16Array) => void;
  /** Called when the device is disconnected, or the user revokes the permission. */
  readonly onLost: () => void;
  /** Closes the microphone when aborted, even while it is opening. */
  readonly signal: AbortSignal;
}

/**
 * Opens the microphone.
 *
 * @throws {DOMException} if there is no microphone, the user denies access, or `signal` is aborted
 */
export async function openMicrophone({ onAudio, onLost, signal }: MicrophoneOptions): Promise<Microphone> {
  signal.throwIfAborted();
  // The browser resamples audio to the context's rate.
  const context = new AudioContext({ sampleRate: MICROPHONE_RATE_HZ });
  let stream: MediaStream | null = null;
  let isStopped = false;
  const stop = () => {
    // Closing a context twice would throw.
    if (isStopped) return;
    isStopped = true;
    signal.removeEventListener("abort", stop);
    endTracks(stream);
    context.close().catch(() => {});
  };
  signal.addEventListener("abort", stop);
  try {
    // Load the worklet first: no audio may be lost once the microphone is open.
    await context.audioWorklet.addModule(workletUrl);
    signal.throwIfAborted();
    const wanted = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    signal.throwIfAborted();
    const worklet = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
    worklet.port.onmessage = ({ data }: MessageEvent<Int16Array>) => {
      if (!isStopped) onAudio(data);
    };
    for (const track of stream.getTracks()) {
      track.onended = () => {
        if (isStopped) return;
        stop();
        onLost();
      };
    }
    context.createMediaStreamSource(stream).connect(worklet);
    return { stop };
  } catch (error) {
    stop();
    // The stream may have opened after `signal` was aborted.
    endTracks(stream);
    throw error;
  }
}

function endTracks(stream: MediaStream | null): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
