// Several runs of node:test told as one: tests are numbered on, and the figures at the end are of all of them. What failed
// is said again before the figures, where one who has only the end of a long output finds it.

import { relative } from "node:path";

/** The runner's figures: `tests 12`, `duration_ms 3.4`. */
const FIGURE = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
/** Of an error's message and stack. */
const REPORT_LINES = 12;

/**
 * @param {(() => AsyncIterable<{ type: string, data: any }>)[]} starts each begins a run and gives its events
 * @returns {AsyncGenerator<{ type: string, data: any }>} events for a reporter
 */
export async function* oneAfterAnother(starts) {
  const figures = new Map();
  const failures = [];
  let before = 0;
  for (const start of starts) {
    let count = 0;
    for await (const { type, data } of start()) {
      if (type === "test:fail") noteFailure(failures, data);
      if (data.nesting !== 0) yield { type, data };
      else if (type === "test:plan") count = data.count;
      else if (type === "test:diagnostic" && FIGURE.test(data.message)) {
        const [, name, value] = FIGURE.exec(data.message);
        figures.set(name, (figures.get(name) ?? 0) + Number(value));
      } else if (type === "test:pass" || type === "test:fail") {
        yield { type, data: { ...data, testNumber: before + data.testNumber } };
      } else yield { type, data };
    }
    before += count;
  }
  yield { type: "test:plan", data: { nesting: 0, count: before } };
  const figureLines = [...figures].map(([name, value]) => `${name} ${value}`);
  for (const message of [...failures.flatMap(failureLines), ...figureLines])
    yield { type: "test:diagnostic", data: { nesting: 0, message } };
}

/** Adds a failed test. A suite that failed by a test inside of it adds only its name to that test's, which came before. */
function noteFailure(failures, { name, file, nesting, details }) {
  const error = details?.error;
  if (error?.failureType !== "subtestsFailed") {
    failures.push({ name, file, nesting, error });
    return;
  }
  for (const failure of failures.filter((inside) => inside.file === file && inside.nesting > nesting))
    Object.assign(failure, { name: `${name} > ${failure.name}`, nesting });
}

/** File, suite, name and error of a failed test. */
function failureLines({ name, file, error }) {
  const cause = error?.cause ?? error;
  const report = String(cause?.stack ?? cause?.message ?? cause).split("\n");
  const place = file === undefined ? "" : `${relative(process.cwd(), file)}: `;
  return [`failed ${place}${name}`, ...report.slice(0, REPORT_LINES).map((line) => `  ${line}`)];
}
