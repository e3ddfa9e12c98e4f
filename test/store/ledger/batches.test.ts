import assert from "node:assert/strict";
import { test } from "node:test";
import { Batches, BUSY } from "../../../src/store/ledger/batches.js";
import * as fc from "../../support/properties.js";

interface Question {
  readonly organizationId: string;
  readonly name: string;
}

type Answers = readonly (string | typeof BUSY)[];

/** A statement that is in flight. */
interface Statement {
  readonly names: readonly string[];
  readonly isWaiting: boolean;
  answer(answers: Answers): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Records statements as they are sent; the test sends the results. */
function byHand(answerMs?: number) {
  const sent: Statement[] = [];
  const batches = new Batches<Question, string>(
    (questions, isWaiting) =>
      new Promise((resolve, reject) => {
        const settled = () => new Promise<void>((done) => setImmediate(done));
        sent.push({
          names: questions.map(({ name }) => name),
          isWaiting,
          answer: (answers) => {
            resolve(answers);
            return settled();
          },
          fail: (error) => {
            reject(error);
            return settled();
          },
        });
      }),
    answerMs,
  );
  const ask = (organizationId: string, name: string) =>
    batches.ask({ organizationId, name }).catch((error: Error) => error.message);
  return { sent, ask };
}

const refusal = (code: string) => Object.assign(new Error(`refused ${code}`), { code });

test("the first query is sent immediately, later ones together in the next statement", async () => {
  const { sent, ask } = byHand();
  const answers = ["a", "b", "c", "d", "e"].map((name) => ask(`org_${name}`, name));
  assert.deepEqual(
    sent.map(({ names }) => names),
    [["a"], ["b"]],
  );
  await sent[0]!.answer(["A"]);
  assert.deepEqual(sent[2]!.names, ["c", "d", "e"]);
  await sent[1]!.answer(["B"]);
  assert.equal(sent.length, 3, "nothing is sent for nobody");
  await sent[2]!.answer(["C", "D", "E"]);
  assert.deepEqual(await Promise.all(answers), ["A", "B", "C", "D", "E"]);
});

test("each organization has one statement in flight at a time", async () => {
  const { sent, ask } = byHand();
  void ask("org_busy", "0");
  for (let nth = 1; nth <= 100; nth++) void ask("org_busy", String(nth));
  void ask("org_other", "other");
  assert.deepEqual(
    sent.map(({ names }) => names),
    [["0"], ["other"]],
  );
  await sent[1]!.answer(["done"]);
  assert.equal(sent.length, 2, "the rest waits for the first");
  await sent[0]!.answer(["done"]);
  assert.deepEqual(
    sent[2]!.names,
    Array.from({ length: 64 }, (_, index) => String(index + 1)),
  );
  void ask("org_late", "late");
  assert.deepEqual(sent[3]!.names, ["late"]);
  await sent[2]!.answer(sent[2]!.names.map(() => "done"));
  assert.equal(sent[4]!.names.length, 36);
});

test("queries about locked accounts are repeated per organization without delaying others", async () => {
  const { sent, ask } = byHand();
  const first = [ask("org_a", "a"), ask("org_b", "b")];
  const together = ["c1", "d1", "c2", "e1", "d2"].map((name) => ask(`org_${name[0]}`, name));
  await sent[0]!.answer(["A"]);
  await sent[1]!.answer(["B"]);
  assert.deepEqual(sent[2]!.names, ["c1", "c2", "d1", "d2", "e1"]);
  await sent[2]!.answer([BUSY, BUSY, "D1", BUSY, "E1"]);
  assert.deepEqual(
    sent.slice(3).map(({ names, isWaiting }) => ({ names, isWaiting })),
    [
      { names: ["c1", "c2"], isWaiting: true },
      { names: ["d2"], isWaiting: true },
    ],
  );
  // The locked accounts delay only their own organization.
  const [late, other] = [ask("org_c", "c3"), ask("org_f", "f")];
  assert.deepEqual(sent[5]!.names, ["f"]);
  await sent[5]!.answer(["F"]);
  await sent[3]!.answer(["C1", "C2"]);
  assert.deepEqual(sent[6]!.names, ["c3"]);
  await sent[6]!.answer(["C3"]);
  await sent[4]!.answer(["D2"]);
  assert.deepEqual(await Promise.all([...first, ...together]), ["A", "B", "C1", "D1", "C2", "E1", "D2"]);
  assert.deepEqual(await Promise.all([late, other]), ["C3", "F"]);
});

test("an invalid value fails alone; a lost connection rejects all", async () => {
  const { sent, ask } = byHand();
  void ask("org_a", "a");
  void ask("org_b", "b");
  const [good, bad] = [ask("org_c", "good"), ask("org_c", "bad")];
  await sent[0]!.answer(["A"]);
  await sent[2]!.fail(refusal("23514"));
  assert.deepEqual(sent[3]!.names, ["good"]);
  await sent[3]!.answer(["done"]);
  await sent[4]!.fail(refusal("23514"));
  assert.deepEqual(await Promise.all([good, bad]), ["done", "refused 23514"]);
  const cut = ["d", "e"].map((name) => ask(`org_${name}`, name));
  await sent[1]!.answer(["B"]);
  const under = sent.slice(5);
  for (const statement of under) await statement.fail(refusal("CONNECTION_CLOSED"));
  for (const statement of sent.slice(5 + under.length)) await statement.fail(refusal("CONNECTION_CLOSED"));
  assert.deepEqual(await Promise.all(cut), ["refused CONNECTION_CLOSED", "refused CONNECTION_CLOSED"]);
  const after = ask("org_d", "after");
  await sent.at(-1)!.answer(["done"]);
  assert.equal(await after, "done");
});

test("statements without a result block neither their organization nor others", {
  timeout: 120_000,
}, async () => {
  const { sent, ask } = byHand(20);
  const lost = [ask("org_a", "a"), ask("org_b", "b")];
  const next = ask("org_a", "next");
  assert.deepEqual(await Promise.all(lost), Array(2).fill("no answer within 20 ms"));
  assert.deepEqual(sent[2]!.names, ["next"]);
  await sent[2]!.answer(["done"]);
  assert.equal(await next, "done");
});

test("each query gets its own result in its organization's order, however statements end", async () => {
  const step = fc.record({
    organization: fc.nat({ max: 3 }),
    isAnswered: fc.boolean(),
    fate: fc.integer({ min: 0, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { sent, ask } = byHand();
      const asked: { name: string; answer: Promise<string> }[] = [];
      const done: string[] = [];
      let answered = 0;
      const answerOne = async (fate: number) => {
        const statement = sent[answered++];
        if (statement === undefined) return void answered--;
        const busy = (name: string) => !statement.isWaiting && fate === 0 && name.startsWith("0");
        if (fate === 5 && statement.names.length > 1) return await statement.fail(refusal("22003"));
        done.push(...statement.names.filter((name) => !busy(name)));
        await statement.answer(statement.names.map((name) => (busy(name) ? BUSY : `answer to ${name}`)));
      };
      for (const [nth, { organization, isAnswered, fate }] of steps.entries()) {
        const name = `${organization}.${nth}`;
        asked.push({ name, answer: ask(String(organization), name) });
        if (isAnswered) await answerOne(fate);
      }
      while (answered < sent.length) await answerOne(1);
      for (const { name, answer } of asked) assert.equal(await answer, `answer to ${name}`);
      for (let organization = 0; organization <= 3; organization++) {
        const own = (names: readonly string[]) => names.filter((name) => name.startsWith(`${organization}.`));
        assert.deepEqual(own(done), own(asked.map(({ name }) => name)));
      }
    }),
  );
});
