import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,3,2]} => 3
 */
export default defineFunction({
  name: 'array_max',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'any',
  nulls: 'propagate',
  doc: 'Largest of the numbers, texts or datetimes in the list; nulls do not count.',
  example: 'array_max(list)',
  op: 'list.max',
});
