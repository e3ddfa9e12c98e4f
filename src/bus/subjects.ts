/** Returns whether a subject matches a pattern: `*` is any one token, a final `>` one or more tokens. */
export function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  for (const [index, want] of wanted.entries()) {
    if (want === ">") return tokens.length > index;
    if (index >= tokens.length || (want !== "*" && want !== tokens[index])) return false;
  }
  return tokens.length === wanted.length;
}
