import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2,3]} => true
 * {"list":[1,2]} => false
 */
export default defineFunction({
  name: 'array_contains',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'value', type: 'any' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the value is an element of the list; false for a null list.',
  example: 'array_contains(list, 3)',
  op: 'list.contains',
});
