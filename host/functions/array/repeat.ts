import { defineFunction } from '../define.js';

/**
 * @example
 * {} => ["a","a","a"]
 */
export default defineFunction({
  name: 'repeat',
  category: 'array',
  args: [
    { name: 'value', type: 'any' },
    { name: 'count', type: 'int' },
  ],
  returns: 'array',
  nulls: 'propagate',
  doc: 'A list of the value, so many times.',
  example: "repeat('a', 3)",
  op: 'list.repeat',
});
