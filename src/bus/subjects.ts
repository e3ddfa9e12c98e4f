/** Whether a subject is one that a subscription asks for, `*` being any word and a last `>` one word or more. */
export function matches(pattern: string, subject: string): boolean {
  const wanted = pattern.split(".");
  const words = subject.split(".");
  for (const [index, want] of wanted.entries()) {
    if (want === ">") return words.length > index;
    if (index >= words.length || (want !== "*" && want !== words[index])) return false;
  }
  return words.length === wanted.length;
}
