import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[3,1,2]} => 1
 */
export default defineFunction({
  name: 'array_min',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'any',
  nulls: 'propagate',
  doc: 'Smallest of the numbers, texts or datetimes in the list; nulls do not count.',
  example: 'array_min(list)',
  op: 'list.min',
});
