/** Keys that tell which connections are the same. */
import type { Spec } from '../base/fields/field.js';

/** Equal for properties that make equal connections: parts with the same key can have one together. */
export function connectionKey(connection: Spec, conf: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.keys(connection).map((name) => conf[name]));
}
