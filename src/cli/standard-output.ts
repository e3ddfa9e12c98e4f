import { keptElsewhere } from "./result-file.js";
import { readerLeft, reportOutputErrorsYourself } from "./standard-streams.js";

/** Writes audio to standard output as it arrives. */
export class StandardOutput {
  #failure: unknown = null;

  constructor() {
    reportOutputErrorsYourself();
  }

  /** Remembers a failure until the end: the rest of the audio is charged and still arriving. */
  async part(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== null) return;
    await new Promise<void>((settle) => {
      process.stdout.write(bytes, (error) => {
        if (error != null) this.#failure = error;
        settle();
      });
    });
    if ((this.#failure as NodeJS.ErrnoException | null)?.code === "EPIPE") readerLeft();
  }

  /** @throws {CommandError} with the place where unwritten audio was saved */
  async write(sound: Uint8Array): Promise<void> {
    if (this.#failure !== null)
      throw await keptElsewhere("standard output", sound, { kind: "sound", cause: this.#failure });
  }

  async abandon(): Promise<void> {}
}
