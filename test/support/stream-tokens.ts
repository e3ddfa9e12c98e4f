import { type SharedClock, systemClock } from "../../core/ports/clock.js";
import type { TokenUses } from "../../core/ports/token-uses.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import { StreamTokens } from "../../src/http/signed-credentials.js";

/** Remembers uses as the database does, without one. */
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

/** Stream tokens of one service that shares nothing. */
export function streamTokens(
  clock: SharedClock = systemClock,
  uses = usesInMemory(),
  endings = new KeyEndings(),
): StreamTokens {
  return new StreamTokens({ secret: Buffer.alloc(32, 7), clock, uses, endings });
}
