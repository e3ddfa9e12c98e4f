// Several runs of node:test told as one: tests are numbered on, and the figures at the end are of all of them.

/** The runner's figures: `tests 12`, `duration_ms 3.4`. */
const FIGURE = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;

/**
 * @param {(() => AsyncIterable<{ type: string, data: any }>)[]} starts each begins a run and gives its events
 * @returns {AsyncGenerator<{ type: string, data: any }>} events for a reporter
 */
export async function* oneAfterAnother(starts) {
  const figures = new Map();
  let before = 0;
  for (const start of starts) {
    let count = 0;
    for await (const { type, data } of start()) {
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
  for (const [name, value] of figures) {
    yield { type: "test:diagnostic", data: { nesting: 0, message: `${name} ${value}` } };
  }
}
