/** A setting breaks its rule. The message contains the variable, the rule and the value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
