/** Reads arguments of host functions; what does not fit throws the error of the row. */
import { Instant } from '../../kernels/value.js';
import { printed } from './printed.js';

/** The argument as a list. `position` counts from 1. */
export function listOf(value: unknown, position = 1): unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`argument ${position} must be a list, not ${printed(value)}`);
}

/** The argument as an object. `position` counts from 1. */
export function objectOf(value: unknown, position = 1): Record<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && !(value instanceof Uint8Array) && !(value instanceof Instant))
    return value as Record<string, unknown>;
  throw new Error(`argument ${position} must be an object, not ${printed(value)}`);
}

/** The argument as a text. `position` counts from 1. */
export function textOf(value: unknown, position = 1): string {
  if (typeof value === 'string') return value;
  throw new Error(`argument ${position} must be a string, not ${printed(value)}`);
}

/** Makes an object of any member names, `__proto__` included. */
export function objectFrom(members: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  return Object.fromEntries(members);
}
