/** Secrets among properties with a declaration: those that it says are secret, and those of telling names. */
import { isObject } from '../structures/is-object.js';
import { findField, type Spec } from './field.js';
import { isSecretName, maskNamed, maskText, maskWhole, minSecretLength, secretTextsOf } from './secret-fields.js';

type Props = Readonly<Record<string, unknown>>;

/** Returns a copy of the input with secrets masked: declared ones, and unknown ones whose names suggest a secret. */
export function mask(spec: Spec, input: Props): Record<string, unknown> {
  // Entries, not assignments: a name like __proto__ is one of the client's.
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, masked(spec, name, value)]));
}

function masked(spec: Spec, name: string, value: unknown): unknown {
  const declared = findField(spec, name)?.declared;
  if (declared?.isSecret ?? isSecretName(name)) {
    // A declared secret is one text; given as an object it has members of any name.
    return declared?.isSecret === true && isObject(value) ? maskText : maskWhole(value);
  }
  return declared?.fields !== undefined && isObject(value) ? mask(declared.fields, value) : maskNamed(name, value);
}

/** Collects the texts that must not be shown: of declared secrets, of telling names, and within other texts. */
export function secretsIn(spec: Spec, input: Props): string[] {
  const found = Object.entries(input).flatMap(([name, value]) => {
    const declared = findField(spec, name)?.declared;
    if (declared?.isSecret === true) return [...textsOf(value)];
    if (declared?.fields !== undefined && isObject(value)) return secretsIn(declared.fields, value);
    return secretTextsOf({ [name]: value });
  });
  return found.filter((text) => text.length >= minSecretLength);
}

function* textsOf(value: unknown): Iterable<string> {
  if (typeof value === 'string' || typeof value === 'number') yield String(value);
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) yield* textsOf(item);
}
