import { keptElsewhere } from "./result-file.js";
import { readerLeft, reportOutputErrorsYourself } from "./standard-streams.js";

/** Sound that goes to standard output as it comes. */
export class StandardOutput {
  #failure: unknown = null;

  constructor() {
    reportOutputErrorsYourself();
  }

  /** What fails is told at the end: the rest of the sound is still on its way, and is paid for. */
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

  /** @throws {CommandError} that names where the sound is kept when it could not be written */
  async write(sound: Uint8Array): Promise<void> {
    if (this.#failure !== null)
      throw await keptElsewhere("standard output", sound, { kind: "sound", cause: this.#failure });
  }

  async abandon(): Promise<void> {}
}
