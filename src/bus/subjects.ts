/** Whether a subject matches a pattern: `*` is any token, a final `>` one token or more. */
export function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  for (const [index, want] of wanted.entries()) {
    if (want === ">") return tokens.length > index;
    if (index >= tokens.length || (want !== "*" && want !== tokens[index])) return false;
  }
  return tokens.length === wanted.length;
}
