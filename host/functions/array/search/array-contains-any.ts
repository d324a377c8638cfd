import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2],"other":[2,3]} => true
 * {"list":[1,2],"other":[3]} => false
 */
export default defineFunction({
  name: 'array_contains_any',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'other', type: 'any', takes: ['array'] },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the two lists have an element in common.',
  example: 'array_contains_any(list, other)',
  op: 'list.containsAny',
});
