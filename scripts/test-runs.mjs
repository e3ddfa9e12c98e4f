// Repeats failures before the closing summary, at the end of a long output.

import { relative } from "node:path";

/** Summary lines of the runner: `tests 12`, `duration_ms 3.4`. */
const FIGURE = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
/** Number of lines of an error's message and stack. */
const REPORT_LINES = 12;

/**
 * @param {AsyncIterable<{ type: string, data: any }>} events of a run of node:test
 * @returns {AsyncGenerator<{ type: string, data: any }>} events for a reporter
 */
export async function* withFailuresAtEnd(events) {
  const figures = [];
  const failures = [];
  for await (const { type, data } of events) {
    if (type === "test:fail") noteFailure(failures, data);
    const isFigure = type === "test:diagnostic" && data.nesting === 0 && FIGURE.test(data.message);
    if (isFigure) figures.push(data.message);
    else yield { type, data };
  }
  for (const message of [...failures.flatMap(failureLines), ...figures])
    yield { type: "test:diagnostic", data: { nesting: 0, message } };
}

/** Adds a failed test. A suite that failed because of its tests only adds its name to them. */
function noteFailure(failures, { name, file, nesting, details }) {
  const error = details?.error;
  if (error?.failureType !== "subtestsFailed") {
    failures.push({ name, file, nesting, error });
    return;
  }
  for (const failure of failures.filter((inside) => inside.file === file && inside.nesting > nesting))
    Object.assign(failure, { name: `${name} > ${failure.name}`, nesting });
}

/** Formats the file, suite, name and error of a failed test. */
function failureLines({ name, file, error }) {
  const cause = error?.cause ?? error;
  const report = String(cause?.stack ?? cause?.message ?? cause).split("\n");
  const place = file === undefined ? "" : `${relative(process.cwd(), file)}: `;
  return [`failed ${place}${name}`, ...report.slice(0, REPORT_LINES).map((line) => `  ${line}`)];
}
