/** References to secrets in properties of connectors, resolved when a rule starts or a connection is tried. */
import { HaumeaError, reasonOf } from '../base/errors.js';
import { findField, type Spec } from '../base/field.js';
import type { Logger } from '../base/log.js';
import { redactor, resolveSecrets, type SecretSources } from '../base/secret-ref.js';
import { maskText, secretTextsOf } from '../base/secrets.js';
import type { Metrics } from './protocol.js';

type Props = Record<string, unknown>;

/** Properties as a connector gets them. */
export interface ResolvedProps {
  readonly value: Props;
  /** Values that must not be shown: those behind references, and passwords written out. */
  readonly secrets: readonly string[];
  readonly redact: Redact;
}

/**
 * Returns the properties with the references in secret ones resolved; throws a `config` error that names property and
 * reference. `spec` tells which properties are secret; what is written out in those that are by their name is one, too.
 * With `mayMiss` references to what is allowed but not there yet stay as they are.
 */
export function resolveProps(
  props: Props,
  where: string,
  spec: Spec,
  sources: SecretSources,
  mayMiss = false,
): ResolvedProps {
  const { value, secrets: resolved } = resolveSecrets(spec, props, { where, sources, mayMiss });
  const written = secretTextsOf(value, (name) => findField(spec, name)?.declared.isSecret === true);
  const secrets = [...new Set([...resolved, ...written])];
  return { value, secrets: secrets.length === 0 ? noSecrets : secrets, redact: redactOf(secrets) };
}

/**
 * Says which property has a mask in the place of its secret, as an import of a document without secrets leaves it: a sentence,
 * undefined when there is none.
 */
export function missingSecret(props: Readonly<Props>, spec: Spec): string | undefined {
  for (const [name, value] of Object.entries(props)) {
    const isSecret = (member: string) => member === name && findField(spec, name)?.declared.isSecret === true;
    if (!secretTextsOf({ [name]: value }, isSecret).includes(maskText)) continue;
    return `property ${name}: its secret is missing, ${maskText} stands in its place: set it anew`;
  }
  return undefined;
}

const noSecrets: readonly string[] = [];

/** Masks the secrets of some properties in what connectors say, which saw the values. */
export type Redact = (text: string) => string;

/** For properties without secrets. */
export const nothingSecret: Redact = (text) => text;

/** Returns what masks the values; `nothingSecret` for none. */
export function redactOf(secrets: readonly string[] = []): Redact {
  return secrets.length === 0 ? nothingSecret : redactor(secrets);
}

/** Joins several into one. */
export function allOf(redacts: readonly Redact[]): Redact {
  const distinct = redacts.filter((redact) => redact !== nothingSecret);
  if (distinct.length === 0) return nothingSecret;
  return (text) => distinct.reduce((masked, redact) => redact(masked), text);
}

/** Returns the error without resolved values, of its kind; the cause is left out when it may hold some. */
export function redactedError(error: unknown, redact: Redact): unknown {
  const reason = reasonOf(error);
  const masked = redact(reason);
  if (masked === reason) return error;
  return error instanceof HaumeaError ? new HaumeaError(error.kind, masked) : new Error(masked);
}

/** Returns an object, such as the figures of a rule, with its texts at any depth masked. */
export function redactedTexts<T extends Readonly<Props> | Metrics>(object: T, redact: Redact): T {
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
