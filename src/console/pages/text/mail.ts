/** Texts about mail. */
export const mailEn = {
  inviteEmail: "E-mail address",
  inviteEmailHint: "We send the link there. You can also copy it here.",
  invited: "The invitation is on its way to {email}.",
  forgotByMail: "Forgot your password?",
  resetMailLead: "Enter your e-mail address, and we send you a link to choose a new password.",
  sendLink: "Send link",
  resetMailSent:
    "If there is an account with this address, the link is on its way. It is valid for one hour.",
  e_mail_unavailable: "This service sends no mail. Pass the link on yourself.",
};

type MailTexts = Readonly<Record<keyof typeof mailEn, string>>;

export const mailRu: MailTexts = {
  inviteEmail: "Электронная почта",
  inviteEmailHint: "Отправим ссылку на этот адрес. Её можно и скопировать здесь.",
  invited: "Приглашение отправляется на {email}.",
  forgotByMail: "Забыли пароль?",
  resetMailLead: "Введите адрес почты, и мы пришлём ссылку, чтобы задать новый пароль.",
  sendLink: "Отправить ссылку",
  resetMailSent: "Если учётная запись с таким адресом есть, ссылка скоро придёт. Она действует один час.",
  e_mail_unavailable: "Сервис не отправляет почту. Передайте ссылку сами.",
};

export const mailKk: MailTexts = {
  inviteEmail: "Электрондық пошта",
  inviteEmailHint: "Сілтемені осы мекенжайға жібереміз. Оны осы жерден көшіріп алуға да болады.",
  invited: "Шақыру {email} мекенжайына жіберілуде.",
  forgotByMail: "Құпиясөзді ұмыттыңыз ба?",
  resetMailLead: "Пошта мекенжайын енгізіңіз, жаңа құпиясөз қоятын сілтеме жібереміз.",
  sendLink: "Сілтеме жіберу",
  resetMailSent: "Осы мекенжаймен тіркелгі болса, сілтеме жақында келеді. Ол бір сағат жарамды.",
  e_mail_unavailable: "Сервис хат жібермейді. Сілтемені өзіңіз беріңіз.",
};
