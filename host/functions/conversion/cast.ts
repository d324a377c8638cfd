import { defineFunction } from '../define.js';

const types = ['bigint', 'float', 'string', 'boolean', 'datetime', 'bytea'];

/**
 * @example
 * {"temp":20.7} => 20
 * {"temp":"21"} => 21
 */
export default defineFunction({
  name: 'cast',
  category: 'conversion',
  args: [
    { name: 'value', type: 'any' },
    { name: 'type', type: 'string' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc:
    'The value as bigint, float, string, boolean, datetime or bytea; an error when it cannot be converted. The ' +
    'type may come with the row.',
  example: 'cast(temp, "bigint")',
  check: ([, type]) =>
    type === undefined || type === null || types.includes(String(type))
      ? undefined
      : `argument 2 must be one of ${types.join(', ')}`,
  special: 'cast',
});
