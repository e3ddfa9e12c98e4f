import { ServiceError } from "../../core/domain/errors.js";
import { creditsFor, LIVE_TARIFF } from "../../core/domain/usage/tariff.js";
import type { Hold, LiveFunds, LiveMeter, SpeechMeter, UsageMeter } from "../../core/ports/usage-meter.js";

/** A meter that permits everything and records what would have been charged. */
export class FreeMeter implements UsageMeter {
  /** The calls of `hold`, `charge`, `delivered N`, `complete`, `refund N` and `release`, in order. */
  readonly calls: string[] = [];
  /** The samples of each settled live session. */
  readonly settledSamples: number[] = [];
  /** The error that the next hold gets. */
  refusal: ServiceError | null = null;
  onFunds: (funds: LiveFunds) => void = () => {};

  readonly #isPatient: boolean;

  /** @param isPatient whether the meter reports no funds until the test does */
  constructor({ isPatient = false } = {}) {
    this.#isPatient = isPatient;
  }

  async requireCredit(): Promise<void> {}

  async hold(): Promise<Hold> {
    this.calls.push("hold");
    if (this.refusal !== null) throw this.refusal;
    const note = (call: string) => async () => void this.calls.push(call);
    return {
      credits: 7,
      charge: note("charge"),
      delivered: (units) => void this.calls.push(`delivered ${units}`),
      complete: note("complete"),
      refund: (units) => note(`refund ${units}`)(),
      release: note("release"),
    };
  }

  openSpeech(): SpeechMeter {
    return {
      cover: async (characters) => {
        this.calls.push(`cover ${characters}`);
        if (this.refusal !== null) throw this.refusal;
      },
      delivered: (characters) => void this.calls.push(`delivered ${characters}`),
      settle: (characters) => void this.calls.push(`settle ${characters}`),
    };
  }

  openLive(_reference: unknown, samplesPerSecond: number, onFunds: (funds: LiveFunds) => void): LiveMeter {
    this.onFunds = onFunds;
    if (!this.#isPatient)
      onFunds({
        limitSamples: Number.POSITIVE_INFINITY,
        beyond: new ServiceError("AUTH_UNAVAILABLE", "never"),
      });
    let isSettled = false;
    return {
      accepted: () => {},
      settle: (totalSamples, onCharged) => {
        if (isSettled) return;
        isSettled = true;
        this.settledSamples.push(totalSamples);
        onCharged(creditsFor({ units: totalSamples, unitsPerSecond: samplesPerSecond }, LIVE_TARIFF));
      },
    };
  }
}
