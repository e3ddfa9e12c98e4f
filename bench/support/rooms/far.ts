import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import { RATE_HZ } from "./levels.js";
import { between, filtered } from "./signals.js";

/** Distance of a voice, as the acoustics of its room. */
export interface Distance {
  /** Reverberation time: echoes fall by 60 dB within it. */
  readonly ringSeconds: number;
  /** Power of the direct sound relative to the echoes. */
  readonly directDb: number;
}

/** Impulse response of a room: the direct sound with the first echoes, and the tail. */
interface Response {
  readonly early: readonly Impulse[];
  readonly tail: readonly Impulse[];
}

interface Impulse {
  readonly at: number;
  readonly gain: number;
}

const EARLY_ECHOES = 7;
const TAIL_FROM_SECONDS = 0.025;
const TAIL_IMPULSES_PER_SECOND = 1_500;
/** Corner frequency of the echoes, whose high frequencies air and walls absorb. */
const TAIL_CORNER_HZ = 3_200;

/** Puts a voice at a distance, in a room chosen by the seed. */
export function heardFrom(voice: Float32Array, distance: Distance, seed: number): Float32Array {
  const { early, tail } = roomResponse(distance, seed);
  const echoes = filtered(convolved(voice, tail), "low", TAIL_CORNER_HZ);
  const straight = convolved(voice, early);
  return straight.map((sample, i) => sample + echoes[i]!);
}

/**
 * @see Karjalainen and Järveläinen, "Reverberation modeling using velvet noise", 2007: sparse impulses give a
 *   smooth tail.
 */
function roomResponse({ ringSeconds, directDb }: Distance, seed: number): Response {
  const random = uniformRandom(seed);
  const fallen = (seconds: number) => 10 ** ((-3 * seconds) / ringSeconds);
  const sign = () => (random() < 0.5 ? -1 : 1);
  const walls = Array.from({ length: EARLY_ECHOES }, () => {
    const seconds = between(random, 0.003, TAIL_FROM_SECONDS);
    return { at: Math.floor(seconds * RATE_HZ), gain: sign() * between(random, 0.5, 1) * fallen(seconds) };
  });
  const spacing = RATE_HZ / TAIL_IMPULSES_PER_SECOND;
  const impulses = Math.floor((ringSeconds - TAIL_FROM_SECONDS) * TAIL_IMPULSES_PER_SECOND);
  const tail = Array.from({ length: Math.max(0, impulses) }, (_, nth) => {
    const at = Math.floor(TAIL_FROM_SECONDS * RATE_HZ + (nth + random()) * spacing);
    return { at, gain: 0.35 * sign() * fallen(at / RATE_HZ) };
  });
  const echoPower = [...walls, ...tail].reduce((sum, { gain }) => sum + gain * gain, 0);
  const direct = { at: 0, gain: Math.sqrt(echoPower * 10 ** (directDb / 10)) };
  return { early: [direct, ...walls], tail };
}

function convolved(samples: Float32Array, impulses: readonly Impulse[]): Float32Array {
  const out = new Float32Array(samples.length);
  for (const { at, gain } of impulses) {
    for (let i = at; i < out.length; i++) out[i]! += gain * samples[i - at]!;
  }
  return out;
}
