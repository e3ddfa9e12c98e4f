import { MAIL_LANGUAGES, type Mail, type MailLanguage } from "../../core/ports/mailer.js";

export interface MailText {
  readonly subject: string;
  readonly body: string;
}

type Writer = (mail: Mail) => MailText;

/** Returns a message's text: in its language, or if that is unknown in all languages, one after the other. */
export function mailText(mail: Mail): MailText {
  if (mail.language !== null) return WRITERS[mail.language](mail);
  const texts = MAIL_LANGUAGES.map((language) => WRITERS[language](mail));
  return {
    subject: texts.map(({ subject }) => subject).join(" / "),
    body: texts.map(({ body }) => body).join("\n\n———\n\n"),
  };
}

/** Makes a name safe for a header or a line of text: removes line breaks and other control characters. */
function oneLine(name: string): string {
  return name.replace(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, " ").trim();
}

const inEnglish: Writer = (mail) => {
  switch (mail.type) {
    case "invitation":
      return text(`Invitation to ${oneLine(mail.organization)} in Dauys`, [
        `${mail.inviter} invites you to join the organization “${oneLine(mail.organization)}” in Dauys.`,
        `Open this link to join. It works once, until ${when(mail.expiresAt)}:\n${mail.url}`,
        "If you did not expect this invitation, ignore this message.",
      ]);
    case "password-reset":
      return text("Reset your Dauys password", [
        "Someone, hopefully you, asked to reset the password of your Dauys account.",
        `Open this link to choose a new password. It works once, until ${when(mail.expiresAt)}:\n${mail.url}`,
        "If it was not you, ignore this message. Your password will not change.",
      ]);
    case "low-balance":
      return text(`${oneLine(mail.organization)}: Dauys credits are running low`, [
        `The organization “${oneLine(mail.organization)}” has ${mail.available} credits left.`,
        "When they are used up, requests are rejected and live transcriptions end.",
        `Balance and history: ${mail.url}`,
      ]);
  }
};

const inRussian: Writer = (mail) => {
  switch (mail.type) {
    case "invitation":
      return text(`Приглашение в ${oneLine(mail.organization)} — Dauys`, [
        `${mail.inviter} приглашает вас в организацию «${oneLine(mail.organization)}» в Dauys.`,
        `Чтобы принять приглашение, перейдите по ссылке. Она сработает один раз, до ${when(mail.expiresAt)}:\n${mail.url}`,
        "Если вы не ждали приглашения, не обращайте внимания на это письмо.",
      ]);
    case "password-reset":
      return text("Новый пароль для Dauys", [
        "Мы получили запрос на смену пароля вашей учётной записи в Dauys.",
        `Чтобы задать новый пароль, перейдите по ссылке. Она сработает один раз, до ${when(mail.expiresAt)}:\n${mail.url}`,
        "Если вы этого не запрашивали, не обращайте внимания на письмо: пароль останется прежним.",
      ]);
    case "low-balance":
      return text(`${oneLine(mail.organization)}: заканчиваются кредиты Dauys`, [
        `На счёте организации «${oneLine(mail.organization)}» осталось кредитов: ${mail.available}.`,
        "Когда они закончатся, запросы будут отклоняться, а сеансы распознавания живой речи — завершаться.",
        `Баланс и история операций: ${mail.url}`,
      ]);
  }
};

const inKazakh: Writer = (mail) => {
  switch (mail.type) {
    case "invitation":
      return text(`${oneLine(mail.organization)} ұйымына шақыру — Dauys`, [
        `${mail.inviter} сізді Dauys-тағы «${oneLine(mail.organization)}» ұйымына шақырады.`,
        `Шақыруды қабылдау үшін сілтемені ашыңыз. Ол бір рет қана жұмыс істейді, мерзімі: ${when(mail.expiresAt)}.\n${mail.url}`,
        "Шақыру күтпеген болсаңыз, бұл хатты елемеңіз.",
      ]);
    case "password-reset":
      return text("Dauys: жаңа құпиясөз", [
        "Dauys-тағы тіркелгіңіздің құпиясөзін ауыстыруға сұрау түсті.",
        `Жаңа құпиясөз қою үшін сілтемені ашыңыз. Ол бір рет қана жұмыс істейді, мерзімі: ${when(mail.expiresAt)}.\n${mail.url}`,
        "Сұрау жібермеген болсаңыз, бұл хатты елемеңіз: құпиясөзіңіз өзгермейді.",
      ]);
    case "low-balance":
      return text(`${oneLine(mail.organization)}: Dauys кредиттері таусылып барады`, [
        `«${oneLine(mail.organization)}» ұйымының шотында қалған кредит: ${mail.available}.`,
        "Кредит таусылғанда сұраулар қабылданбайды, тікелей тану сеанстары жабылады.",
        `Баланс пен операциялар тарихы: ${mail.url}`,
      ]);
  }
};

const WRITERS: Readonly<Record<MailLanguage, Writer>> = { kk: inKazakh, ru: inRussian, en: inEnglish };

function text(subject: string, paragraphs: readonly string[]): MailText {
  return { subject, body: `${paragraphs.join("\n\n")}\n` };
}

/** Formats a time like `2026-11-28 14:05 UTC`. */
function when(moment: Date): string {
  return `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
