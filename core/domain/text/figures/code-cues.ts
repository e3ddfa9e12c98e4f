/**
 * Words before digits that are read one by one, in Kazakh and Russian: a code, or a number that identifies
 * something.
 */
const CODE =
  /^(?:код|парол|пин|құпиясөз|номер|нөмір|рейс|автобус|маршрут|договор|келісімшарт|шот)(?:|\p{Ll}{1,8})$/u;
const FARTHEST = 2;

/** Whether the numbers that start at `first` are a code, so that two in a row are not a range. */
export function isCode(words: readonly string[], first: number): boolean {
  return words.slice(Math.max(0, first - FARTHEST), first).some((word) => CODE.test(word));
}
