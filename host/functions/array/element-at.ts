import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":["a","b"]} => "a"
 */
export default defineFunction({
  name: 'element_at',
  category: 'array',
  args: [
    { name: 'data', type: 'any', takes: ['array', 'struct'] },
    { name: 'key', type: 'any' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc: 'Element of a list by its index (negative: from the end) or member of an object by its name.',
  example: 'element_at(list, 0)',
  op: 'list.elementAt',
});
