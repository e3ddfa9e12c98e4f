/** Rarer outputs count as this frequent: how rare they really are, no measured text can tell. */
const RAREST = 3e-4;

/**
 * What is added to the log-probs of a frame before the search, so that the language model alone says how frequent letters
 * are: a CTC network has learnt that from its training text, too, and would have it count twice. That is minus `weight`
 * times the log of each output's prior, shifted so that outputs keep their score on average; blank keeps its own.
 *
 * @param priors how often the network writes each output, `[vocabulary]`; blank's is left out
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
