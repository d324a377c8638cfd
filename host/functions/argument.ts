/** Reads arguments of host functions; what does not fit throws the error of the row. */
import { printed } from './printed.js';

/** The argument as a text. `position` counts from 1. */
export function textOf(value: unknown, position = 1): string {
  if (typeof value === 'string') return value;
  throw new Error(`argument ${position} must be a string, not ${printed(value)}`);
}
