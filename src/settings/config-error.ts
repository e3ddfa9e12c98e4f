/** A setting breaks its rule; the message names the variable, the rule and the value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
