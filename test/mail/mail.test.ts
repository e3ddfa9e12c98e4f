// Sends mail to a real SMTP server: what arrives, what is repeated, and what a name cannot do.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { MAIL_LANGUAGES, type Mail } from "../../core/ports/mailer.js";
import { SmtpMailer } from "../../src/mail/smtp-mailer.js";
import { mailText } from "../../src/mail/texts.js";
import { warnOfLowBalances } from "../../src/service/mail.js";
import { ConfigError } from "../../src/settings/config-error.js";
import { readConfig } from "../../src/settings/settings.js";
import { PASSWORD, PUBLIC_URL, type RunningConsole, startConsole } from "../console/running-console.js";
import { eventually } from "../support/eventually.js";
import { SILENT } from "../support/silent-log.js";
import { type SmtpInbox, startInbox } from "./smtp-inbox.js";

const FROM = "Dauys <no-reply@dauys.test>";
const PAUSES_MS = [1, 1];

let inbox: SmtpInbox;
let mailer: SmtpMailer;
let running: RunningConsole;

before(async () => {
  inbox = await startInbox();
  mailer = new SmtpMailer({ url: inbox.url, from: FROM, log: SILENT, pausesMs: PAUSES_MS });
  running = await startConsole([], mailer);
});
after(async () => {
  await running.stop();
  await mailer.close();
  await inbox.close();
});
beforeEach(() => void (inbox.mails as unknown[]).splice(0));

const RESET = {
  ...{ type: "password-reset", to: "aida@dauys.test", language: "en" },
  ...{ url: `${PUBLIC_URL}/console/reset#x`, expiresAt: new Date("2026-11-28T14:05:00Z") },
} as const satisfies Mail;

/** Returns the only link in the latest message, as a path. */
async function linkOf(type: string): Promise<string> {
  await eventually(`a message about ${type} arrives`, () => inbox.mails.length > 0);
  const [link = "", ...more] = inbox.mails.at(-1)!.text.match(/https:\S+/g) ?? [];
  assert.deepEqual(more, []);
  assert.ok(link.startsWith(`${PUBLIC_URL}/console/`), link);
  return link;
}

test("an owner invites by mail, and the link in it joins the organization", async () => {
  const owner = running.visitor();
  const organization = await owner.signUp("owner@dauys.test", { organization: "Дауыс ЖШС" });
  const path = `/organizations/${organization}/invitations`;
  const body = { role: "member", email: "New@dauys.test", language: "kk" };
  assert.equal((await owner.ask("POST", path, body)).status, 201);
  const link = await linkOf("invitation");
  const [mail] = inbox.mails;
  assert.deepEqual(mail?.recipients, ["new@dauys.test"]);
  assert.deepEqual(mail?.headers.get("subject"), ["Дауыс ЖШС ұйымына шақыру — Dauys"]);
  assert.deepEqual(mail?.headers.get("from"), [FROM]);
  const newcomer = running.visitor();
  await newcomer.signUp("new@dauys.test", { invitation: link.split("#")[1] });
  const { json } = await newcomer.ask("GET", "/session");
  assert.equal(json.organizations[0].id, organization);
  // Without a mail address there is a link, as before.
  const { json: made } = await owner.ask("POST", path, { role: "member" });
  assert.match(made.path, /^\/console\/join#/);
  assert.equal(inbox.mails.length, 1);
});

test("a lost password is replaced by the link in a mail", async () => {
  const visitor = running.visitor();
  await visitor.signUp("forgetful@dauys.test");
  const ask = (email: string) => running.visitor().ask("POST", "/password-resets", { email, language: "ru" });
  const known = await ask("forgetful@dauys.test");
  const link = await linkOf("password");
  // The response is the same for an address without an account, but no mail is sent there.
  const unknown = await ask("nobody@dauys.test");
  assert.deepEqual([known.status, known.text], [202, "{}"]);
  assert.deepEqual([unknown.status, unknown.text], [202, "{}"]);
  const body = { token: link.split("#")[1], password: "another long password" };
  assert.equal((await running.visitor().ask("POST", "/password-resets/use", body)).status, 200);
  const signIn = { email: "forgetful@dauys.test", password: PASSWORD };
  assert.equal((await running.visitor().ask("POST", "/sign-in", signIn)).status, 401);
  assert.deepEqual(
    inbox.mails.map(({ recipients }) => recipients),
    [["forgetful@dauys.test"]],
  );
  // A limit keeps anyone from flooding a mailbox.
  const statuses = await Promise.all(Array.from({ length: 4 }, () => ask("nobody@dauys.test")));
  assert.ok(statuses.some(({ status }) => status === 429));
});

test("names cannot add headers or recipients", async () => {
  const organization = "Acme\r\nBcc: thief@dauys.test\r\n\r\nX: ";
  const url = `${PUBLIC_URL}/console/join#x`;
  const { expiresAt } = RESET;
  for (const language of [...MAIL_LANGUAGES, null]) {
    const invitation = { type: "invitation", inviter: "a@dauys.test", organization, url, expiresAt } as const;
    assert.ok(await mailer.send({ ...invitation, to: "b@dauys.test", language }));
    assert.ok(
      await mailer.send({
        type: "low-balance",
        organization,
        available: 5,
        url,
        to: "b@dauys.test",
        language,
      }),
    );
  }
  for (const { recipients, headers } of inbox.mails) {
    assert.deepEqual(recipients, ["b@dauys.test"]);
    assert.equal(headers.has("bcc") || headers.has("x"), false);
    assert.equal(headers.get("subject")?.length, 1);
  }
  assert.equal(inbox.mails.length, 8);
});

test("a mail that failed temporarily is repeated, a rejected one is not", async () => {
  const earlier = inbox.attempts();
  inbox.reject(451, 421);
  assert.equal(await mailer.send(RESET), true);
  assert.equal(inbox.attempts() - earlier, 3);
  inbox.reject(550);
  assert.equal(await mailer.send(RESET), false);
  assert.equal(inbox.attempts() - earlier, 4);
  inbox.reject(451, 451, 451);
  assert.equal(await mailer.send(RESET), false);
  assert.equal(inbox.attempts() - earlier, 7);
});

test("an unreachable mail server delays no request", async () => {
  // Nothing listens at this address, and the pause before the next try never ends by itself.
  const away = { url: "smtp://127.0.0.1:1", from: FROM, log: SILENT, pausesMs: [2 ** 30] };
  const unreachable = new SmtpMailer(away);
  const console = await startConsole([], unreachable);
  const owner = console.visitor();
  const organization = await owner.signUp("owner@dauys.test");
  const body = { role: "member", email: "new@dauys.test" };
  assert.equal((await owner.ask("POST", `/organizations/${organization}/invitations`, body)).status, 201);
  await console.stop();
  // Closing drops the messages that still wait.
  await unreachable.close();
});

test("owners are warned once when the balance falls below the limit, and again after it recovered", async () => {
  const { store } = running;
  const owner = running.visitor();
  const organization = await owner.signUp("spender@dauys.test", { organization: "Spenders" });
  let look = () => {};
  const stop = warnOfLowBalances({
    lowBalances: store.lowBalances,
    mailing: { mailer, publicUrl: PUBLIC_URL },
    limitCredits: 26_000,
    repeat: (act) => {
      look = act;
      return () => {};
    },
    log: SILENT,
  });
  const warned = () =>
    inbox.mails.filter(({ recipients }) => recipients.includes("spender@dauys.test")).length;
  look();
  await eventually("a warning arrives", () => warned() === 1);
  const [mail] = inbox.mails.filter(({ recipients }) => recipients.includes("spender@dauys.test"));
  for (const text of ["25000 credits left", "осталось кредитов: 25000", "қалған кредит: 25000"])
    assert.ok(mail?.text.includes(text), mail?.text);
  assert.deepEqual([...(await store.lowBalances.claim(26_000))], []);
  await store.transfers.topUp(organization, 10_000, "payment");
  assert.deepEqual([...(await store.lowBalances.claim(26_000))], []);
  // Two services check at the same time, and one of them sends the warning.
  const both = await Promise.all([store.lowBalances.claim(40_000), store.lowBalances.claim(40_000)]);
  const ours = both.flat().filter(({ organizationId }) => organizationId === organization);
  assert.deepEqual(
    ours.map(({ name, available, owners }) => ({ name, available, owners })),
    [{ name: "Spenders", available: 35_000, owners: ["spender@dauys.test"] }],
  );
  await store.lowBalances.release(organization);
  const again = await store.lowBalances.claim(40_000);
  assert.ok(again.some(({ organizationId }) => organizationId === organization));
  stop();
});

test("every message has a text in each language", () => {
  const mails: readonly Mail[] = [
    RESET,
    { ...RESET, type: "invitation", inviter: "a@dauys.test", organization: "Acme" },
    { ...RESET, type: "low-balance", organization: "Acme", available: 5 },
  ];
  for (const mail of mails) {
    const texts = MAIL_LANGUAGES.map((language) => mailText({ ...mail, language }));
    assert.equal(new Set(texts.map(({ subject }) => subject)).size, MAIL_LANGUAGES.length);
    for (const { body } of texts) assert.ok(body.includes(RESET.url));
    const all = mailText({ ...mail, language: null });
    for (const { subject, body } of texts)
      assert.ok(all.subject.includes(subject) && all.body.includes(body));
  }
});

test("a mail server needs a sender and a public address", () => {
  const SMTP_URL = "smtp://user:secret@mail.dauys.test:587";
  assert.throws(
    () => readConfig({ SMTP_URL }),
    new ConfigError("MAIL_FROM must be set with SMTP_URL, received none"),
  );
  assert.throws(() => readConfig({ SMTP_URL, MAIL_FROM: FROM }), /PUBLIC_URL must be set with SMTP_URL/);
  assert.throws(() => readConfig({ MAIL_FROM: "Dauys\r\nBcc: <a@dauys.test>" }), /MAIL_FROM/);
  assert.throws(() => readConfig({ SMTP_URL: "http://mail.dauys.test" }), /SMTP_URL/);
  const config = readConfig({ SMTP_URL, MAIL_FROM: FROM, PUBLIC_URL });
  assert.deepEqual([config.smtpUrl, config.mailFrom, config.publicUrl], [SMTP_URL, FROM, PUBLIC_URL]);
});
