/** Masks secrets in texts for logs, metrics and error reasons, which come from parts that got the values. */
import { HaumeaError, reasonOf, reworded } from '../errors.js';
import { maskText } from '../fields/secret-fields.js';
import type { Logger } from '../log/log.js';

/** Masks the secrets of some properties in a text of a connector, which got the values. */
export type Redact = (text: string) => string;

/** Leaves texts as they are: for properties without secrets. */
export const nothingSecret: Redact = (text) => text;

/** Returns a function that masks the values; `nothingSecret` when there are none. */
export function redactOf(secrets: readonly string[] = []): Redact {
  return secrets.length === 0 ? nothingSecret : redactor(secrets);
}

/** Makes a function that masks the values in a text, as they are and in the forms that URLs and JSON give them. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // Longer values first: one secret may be part of another.
  const values = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) => values.reduce((masked, secret) => masked.replaceAll(secret, maskText), text);
}

/** Joins several into one. */
export function allOf(redacts: readonly Redact[]): Redact {
  const distinct = redacts.filter((redact) => redact !== nothingSecret);
  if (distinct.length === 0) return nothingSecret;
  return (text) => distinct.reduce((masked, redact) => redact(masked), text);
}

/** Returns the error itself, or one of its kind with resolved values masked, without the cause, which may hold some. */
export function redactedError(error: unknown, redact: Redact): unknown {
  const reason = reasonOf(error);
  const masked = redact(reason);
  if (masked === reason) return error;
  return error instanceof HaumeaError ? reworded(error, masked) : new Error(masked);
}

/** Returns an object, such as the figures of a rule, with its texts at any depth masked. */
export function redactedTexts<T extends Readonly<Record<string, unknown>>>(object: T, redact: Redact): T {
  return redact === nothingSecret ? object : (copy(object, redact) as T);
}

/** Returns a log that writes to another without the secrets. */
export function redactedLog(log: Logger, redact: Redact): Logger {
  if (redact === nothingSecret) return log;
  return {
    debug: (message, details = {}) => log.debug(redact(message), redactedTexts(details, redact)),
    info: (message, details = {}) => log.info(redact(message), redactedTexts(details, redact)),
    warn: (message, details = {}) => log.warn(redact(message), redactedTexts(details, redact)),
    error: (message, details = {}) => log.error(redact(message), redactedTexts(details, redact)),
  };
}

function copy(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => copy(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copy(item, redact)]));
}
