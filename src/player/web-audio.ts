// The members of Web Audio that the player uses, so that it compiles without browser types.

export interface AudioBufferLike {
  readonly duration: number;
  copyToChannel(source: Float32Array<ArrayBuffer>, channel: number): void;
}

interface AudioNodeLike {
  disconnect(): void;
}

export interface BufferSourceLike extends AudioNodeLike {
  buffer: AudioBufferLike | null;
  onended: ((event: never) => void) | null;
  connect(destination: never): unknown;
  start(whenSeconds: number, offsetSeconds: number): void;
  stop(): void;
}

export interface AudioContextLike {
  /** Seconds on the clock that schedules sources. */
  readonly currentTime: number;
  readonly destination: object;
  createBuffer(channels: number, length: number, sampleRateHz: number): AudioBufferLike;
  createBufferSource(): BufferSourceLike;
}
