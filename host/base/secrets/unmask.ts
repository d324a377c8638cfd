/**
 * Stored secrets in the place of the masks that clients send back, for the other side they were given for and no other.
 */

import { isDeepStrictEqual } from 'node:util';
import { isAddressName, maskNamed, maskText } from '../fields/secret-fields.js';
import { isObject } from '../structures/is-object.js';
import { secretErrors } from './errors.js';

type Props = Readonly<Record<string, unknown>>;

/**
 * Puts stored secrets back where a client returns the mask it was shown, so that a masked round trip changes nothing.
 * Throws a `config` error that names the property when an address beside it has changed: the client does not know what
 * it would send there.
 */
export function unmask(input: Props, stored: Props | undefined): Record<string, unknown> {
  const entries = Object.entries(input).map(
    ([name, value]) => [name, unmaskValue(value, stored?.[name], name)] as const,
  );
  const whole = Object.fromEntries(entries);
  if (stored !== undefined) checkAddresses(input, whole, stored);
  return whole;
}

function unmaskValue(value: unknown, before: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    if (before === undefined || !value.includes(maskText)) return value;
    return value === maskText || (typeof before === 'string' && value === maskNamed(name, before)) ? before : value;
  }
  // Items of a list have no names: only their places tell which they were.
  if (Array.isArray(value))
    return value.map((item, i) => unmaskValue(item, Array.isArray(before) ? before[i] : undefined));
  return isObject(value) ? unmask(value, isObject(before) ? before : undefined) : value;
}

function checkAddresses(input: Props, whole: Props, stored: Props): void {
  const moved = movedAddress(whole, stored);
  if (moved === undefined) return;
  const kept = Object.keys(input).find((name) => !isDeepStrictEqual(input[name], whole[name]));
  if (kept === undefined) return;
  throw secretErrors.masked(kept, maskText, moved);
}

/** The first address property that has changed; undefined when none has. */
export function movedAddress(given: Props, stored: Props): string | undefined {
  const names = Object.keys({ ...stored, ...given });
  return names.find(
    (name) =>
      isAddressName(name) &&
      !isObject(given[name]) &&
      !isObject(stored[name]) &&
      !isDeepStrictEqual(unmaskValue(given[name], stored[name], name), stored[name]),
  );
}
