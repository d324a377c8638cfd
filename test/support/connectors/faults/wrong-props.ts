/** Properties as nobody should give them. */
import type { FieldInfo } from '../../../../host/base/fields/field.js';
import type { Row } from './site.js';

/** A value that no property of the type takes; undefined where each is taken. */
export function wrongFor({ type }: Pick<FieldInfo, 'type'>): Row[string] {
  if (type === 'any') return undefined;
  if (type === 'object' || type === 'list') return 5;
  return type === 'string' ? { a: 1 } : 'perhaps';
}
