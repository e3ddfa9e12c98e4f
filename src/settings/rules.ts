import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";
import { PROVIDERS, type Provider } from "../../core/domain/placement/provider.js";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import { nearestName } from "../../core/domain/text/nearest-name.js";
import type { CreditPrice } from "../../core/domain/usage/credit-price.js";
import type { Tariff } from "../../core/domain/usage/tariff.js";
import type { Rule } from "./setting.js";

const MEGABYTE = 2 ** 20;
const HIGHEST_DEVICE = 63;

/** @param times factor from the unit of the variable to that of the value */
export function wholeNumber(lowest: number, highest: number, times = 1): Rule<number> {
  const digits = z.string().regex(/^\d{1,9}$/);
  const schema = digits.transform(Number).pipe(z.number().min(lowest).max(highest));
  return {
    rule: `a whole number from ${lowest} to ${highest}`,
    schema: schema.transform((value) => value * times),
  };
}

/** Also accepts `auto`, which becomes null: the service then determines the value. */
export function orAuto<T>({ rule, schema }: Rule<T>): Rule<T | null> {
  const auto = z.literal("auto").transform(() => null);
  return {
    rule: `auto or ${rule}`,
    schema: z.union([auto, schema]) as unknown as z.ZodType<T | null, string>,
  };
}

/** Seconds in the variable, milliseconds in the value. */
export function seconds(lowest: number, highest: number): Rule<number> {
  return wholeNumber(lowest, highest, 1_000);
}

/** Kilobytes of 2^10 bytes in the variable, bytes in the value. */
export function kilobytes(lowest: number, highest: number): Rule<number> {
  return wholeNumber(lowest, highest, 1_024);
}

/** Megabytes of 2^20 bytes in the variable, bytes in the value. */
export function megabytes(lowest: number, highest: number): Rule<number> {
  return wholeNumber(lowest, highest, MEGABYTE);
}

export function oneOf<const T extends string>(...names: readonly [T, ...T[]]): Rule<T> {
  return { rule: `one of ${names.join(", ")}`, schema: z.enum(names) as unknown as z.ZodType<T, string> };
}

export const FLAG: Rule<boolean> = {
  rule: "one of true, false",
  schema: z.enum(["true", "false"]).transform((value) => value === "true") as unknown as z.ZodType<
    boolean,
    string
  >,
};

export const HOST_NAME: Rule<string> = {
  rule: "an IP address or a host name without scheme and port",
  schema: z
    .string()
    .refine((value) => isIP(value) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value)),
};

/** A folder, as an absolute path. Relative paths start at the working directory. */
export const FOLDER: Rule<string> = {
  rule: "a path",
  schema: z.string().transform((value) => resolve(value)),
};

/** A name that fits into bus subjects and metric labels. */
export const SHORT_NAME: Rule<string> = {
  rule: "1 to 40 lower-case letters, digits and dashes",
  schema: z.string().regex(/^[a-z0-9-]{1,40}$/),
};

/** Addresses of one cluster, which may contain a user and a password. */
export const BUS_SERVERS: Rule<readonly string[]> = {
  rule: "addresses like nats://host:4222 or tls://host:4222, separated by commas",
  schema: z
    .string()
    .transform(entriesOf)
    .refine((entries) => entries.every(isBusAddress)),
  isSecret: true,
};

function isBusAddress(value: string): boolean {
  const { protocol, hostname } = URL.canParse(value) ? new URL(value) : { protocol: "", hostname: "" };
  return (protocol === "nats:" || protocol === "tls:") && hostname !== "";
}

export const POSTGRES_URL: Rule<string> = {
  rule: "an address like postgres://user:password@host:5432/database",
  schema: z.string().refine((value) => {
    const protocol = URL.canParse(value) ? new URL(value).protocol : "";
    return protocol === "postgres:" || protocol === "postgresql:";
  }),
  isSecret: true,
};

/** A URL without a query, to which paths are appended. */
export const HTTP_URL: Rule<string> = {
  rule: "an address like http://host:4318",
  schema: z
    .string()
    .refine(
      (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !/[?#]/.test(value),
    ),
};

export const API_KEY: Rule<string> = {
  rule: '"sk-svc-" and 48 lowercase hex digits',
  schema: z.string().regex(/^sk-svc-[0-9a-f]{48}$/),
  isSecret: true,
};

export const PEPPER: Rule<string> = {
  rule: "at least 16 characters long",
  schema: z.string().min(16),
  isSecret: true,
};

/** Credits per character, or per second of audio: "2/5" means 2 credits for 5 characters. */
export const TARIFF: Rule<Tariff> = {
  rule: "a fraction of whole numbers such as 5/2, up to 999999 each",
  schema: z
    .string()
    .regex(/^[1-9]\d{0,5}\/[1-9]\d{0,5}$/)
    .transform((value) => {
      const [credits, perUnits] = value.split("/");
      return { credits: Number(credits), perUnits: Number(perUnits) };
    }),
};

const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

/** Money for credits: "1/25000 USD" means one dollar for 25,000 credits. */
export const CREDIT_PRICE: Rule<CreditPrice> = {
  rule: "a fraction of whole numbers and a currency such as 1/25000 USD, up to 999999 each",
  schema: z
    .string()
    .regex(/^[1-9]\d{0,5}\/[1-9]\d{0,5} [A-Z]{3}$/)
    .refine((value) => CURRENCIES.has(value.slice(-3)))
    .transform((value) => {
      const [amount, credits] = value.slice(0, -4).split("/");
      return { amount: Number(amount), credits: Number(credits), currency: value.slice(-3) };
    }),
};

/** The operator's e-mail address or https URL. */
export const CONTACT: Rule<string> = {
  rule: "an e-mail address or an https:// address",
  schema: z
    .string()
    .max(200)
    .refine((value) => (value.startsWith("https://") ? URL.canParse(value) : isEmail(value))),
};

export const SMTP_URL: Rule<string> = {
  rule: "an address like smtp://user:password@host:587 or smtps://host:465",
  schema: z.string().refine((value) => {
    const { protocol = "", hostname = "" } = URL.canParse(value) ? new URL(value) : {};
    return /^smtps?:$/.test(protocol) && hostname !== "";
  }),
  isSecret: true,
};

export const MAIL_FROM: Rule<string> = {
  rule: "an e-mail address, or a name and an e-mail address like Dauys <no-reply@example.org>",
  schema: z
    .string()
    .max(200)
    .refine((value) => isEmail(/^[^<>"\r\n]+<([^<>]+)>$/.exec(value)?.[1] ?? value)),
};

function isEmail(value: string): boolean {
  const [name = "", host = "", ...more] = value.split("@");
  return name !== "" && host.includes(".") && more.length === 0 && !/[\s<>"]/.test(value);
}

/** Networks in CIDR notation. */
export const NETWORKS: Rule<readonly string[]> = {
  rule: "a comma-separated list of networks such as 10.0.0.0/8",
  schema: z
    .string()
    .transform((value) => entriesOf(value).filter((entry) => entry !== ""))
    .pipe(z.array(z.string().refine(isNetwork))),
};

function isNetwork(entry: string): boolean {
  const [address = "", bits = ""] = entry.split("/");
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  return version !== 0 && entry === `${address}/${bits}` && /^\d{1,3}$/.test(bits) && Number(bits) <= widest;
}

export const PROVIDER_LIST: Rule<readonly Provider[]> = listOf(PROVIDERS);

export const SERVED_LIST: Rule<readonly ServedPart[]> = listOf(SERVED_PARTS);

function listOf<const T extends string>(names: readonly T[]): Rule<readonly T[]> {
  const known: readonly string[] = names;
  return {
    rule: `a comma-separated list of ${names.join(", ")}, each once`,
    schema: uniqueEntries(
      (entry) => known.includes(entry),
      (entry) => {
        const nearest = nearestName(entry, names);
        return nearest === null ? undefined : `did you mean ${nearest}?`;
      },
    ) as unknown as z.ZodType<readonly T[], string>,
  };
}

export const DEVICE_LIST: Rule<readonly number[]> = {
  rule: `a comma-separated list of whole numbers from 0 to ${HIGHEST_DEVICE}, each once`,
  schema: uniqueEntries((entry) => /^\d{1,2}$/.test(entry) && Number(entry) <= HIGHEST_DEVICE).transform(
    (entries) => entries.map(Number),
  ),
};

/** @param hintFor returns the end of the error message for an unknown entry */
function uniqueEntries(
  isKnown: (entry: string) => boolean,
  hintFor: (entry: string) => string | undefined = () => undefined,
) {
  return z
    .string()
    .transform(entriesOf)
    .superRefine((entries, context) => {
      const wrong = entries.find((entry, index) => !isKnown(entry) || entries.indexOf(entry) < index);
      if (wrong === undefined) return;
      const hint =
        wrong === "" ? "an entry is empty" : isKnown(wrong) ? "it is listed twice" : hintFor(wrong);
      context.addIssue({ code: "custom", input: wrong, params: { hint } });
    });
}

function entriesOf(value: string): string[] {
  return value.split(",").map((entry) => entry.trim());
}
