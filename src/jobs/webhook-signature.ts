import { createHmac } from "node:crypto";

/**
 * Signs the body of a webhook: `t=SECONDS,v1=HEX`, with one `v1` per secret. The HMAC-SHA256 covers the time,
 * a dot and the body, so that a receiver can reject old messages.
 */
export function webhookSignature(secrets: readonly string[], atSeconds: number, body: string): string {
  const signatures = secrets.map(
    (secret) => `v1=${createHmac("sha256", secret).update(`${atSeconds}.${body}`).digest("hex")}`,
  );
  return [`t=${atSeconds}`, ...signatures].join(",");
}
