import { type SharedClock, systemClock } from "../../core/ports/clock.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import { ClientSecrets } from "../../src/http/client-secrets.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { StreamTokens } from "../../src/http/signed-credentials.js";

/** Records the uses of tokens, as the database does. */
export function usesInMemory(): TokenUses {
  const used = new Set<string>();
  return {
    use: async ({ id }) => {
      const isFirst = !used.has(String(id));
      used.add(String(id));
      return isFirst;
    },
  };
}

/** Returns the stream tokens of a single service. */
export function streamTokens(
  clock: SharedClock = systemClock,
  uses = usesInMemory(),
  endings = new KeyEndings(),
): StreamTokens {
  return new StreamTokens({ secret: Buffer.alloc(32, 7), clock, uses, endings });
}

/** Returns the client secrets of a single service. */
export function clientSecrets(
  clock: SharedClock = systemClock,
  uses = usesInMemory(),
  endings = new KeyEndings(),
): ClientSecrets {
  return new ClientSecrets({ secret: Buffer.alloc(32, 8), clock, uses, endings });
}
