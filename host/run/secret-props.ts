/** References to secrets in properties of connectors, resolved when a rule starts or a connection is tried. */
import { HaumeaError, reasonOf } from '../base/errors.js';
import { hasSecretRef, type Resolved, resolveSecrets } from '../base/secret-ref.js';
import type { Metrics } from './protocol.js';

type Props = Record<string, unknown>;

/** Properties whose `file://` text is the address of a file, not a secret kept in one. */
const addressName = /(path|file|url|uri)$/i;

/** Returns the properties with their references resolved; throws a `config` error that names property and reference. */
export function resolveProps(props: Props, where: string): Resolved<Props> {
  if (!hasSecretRef(props)) return { value: props, redact: nothingSecret };
  const keep = Object.entries(props)
    .filter(([name, value]) => addressName.test(name) && typeof value === 'string' && value.startsWith('file://'))
    .map(([name]) => name);
  return resolveSecrets(props, { where, keep });
}

/** Masks the resolved values of some properties in what connectors say, which saw the values. */
export type Redact = (text: string) => string;

/** For properties without references. */
export const nothingSecret: Redact = (text) => text;

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
export function redactedTexts<T extends Props | Metrics>(object: T, redact: Redact): T {
  return redact === nothingSecret ? object : (copy(object, redact) as T);
}

function copy(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => copy(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copy(item, redact)]));
}
