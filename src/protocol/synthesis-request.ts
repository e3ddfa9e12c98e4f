/** A parsed and validated `/v1/tts` body; defaults filled in. Model and voice are checked against the catalog later. */
export interface SynthesisRequest {
  readonly text: string;
  readonly model: string;
  /** Null means the model's default voice. */
  readonly voice: string | null;
  readonly speed: number;
  readonly nfe: number;
  readonly normalize: boolean;
}
