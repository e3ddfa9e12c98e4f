import workletUrl from "./microphone-worklet.ts?worker&url";

export const MICROPHONE_RATE_HZ = 16_000;

export interface Microphone {
  stop(): void;
}

/**
 * Opens the microphone; `onAudio` gets 16-bit mono PCM at 16 kHz, 40 ms at a time.
 *
 * @throws {DOMException} when there is none, or the user does not want it
 */
export async function openMicrophone(onAudio: (pcm: Int16Array) => void): Promise<Microphone> {
  // The browser resamples to the context's rate.
  const context = new AudioContext({ sampleRate: MICROPHONE_RATE_HZ });
  let stream: MediaStream | null = null;
  const stop = () => {
    for (const track of stream?.getTracks() ?? []) track.stop();
    void context.close();
  };
  try {
    // First what has to be fetched: from the moment that the microphone is open, everything is heard.
    await context.audioWorklet.addModule(workletUrl);
    const wanted = { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
    stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    const worklet = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
    worklet.port.onmessage = ({ data }: MessageEvent<Int16Array>) => onAudio(data);
    context.createMediaStreamSource(stream).connect(worklet);
    return { stop };
  } catch (error) {
    stop();
    throw error;
  }
}
