/** Lowest prior; below it, measurements are too coarse. */
const RAREST = 3e-4;

/**
 * Returns a bias for the log-probs of each frame, so that only the language model accounts for the frequency
 * of letters, which a CTC network has also learned from its training text. The bias is minus `weight` times
 * the log of each output's prior, shifted so that outputs keep their score on average; blank keeps its own.
 *
 * @param priors frequency of each output of the network, `[vocabulary]`; blank's is ignored
 * @see Miao, Gowayyed and Metze, "EESEN", 2015
 */
export function outputBias(priors: readonly number[], weight: number): Float32Array {
  const sum = priors.slice(1).reduce((total, prior) => total + prior, 0);
  const shares = priors.map((prior) => Math.max(prior / sum, RAREST));
  const entropy = shares.slice(1).reduce((total, share) => total - share * Math.log(share), 0);
  return Float32Array.from(shares, (share, output) =>
    output === 0 ? 0 : -weight * (Math.log(share) + entropy),
  );
}
