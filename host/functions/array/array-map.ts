import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,-2]} => [1,2]
 */
export default defineFunction({
  name: 'array_map',
  category: 'array',
  args: [
    { name: 'function', type: 'string' },
    { name: 'list', type: 'any', takes: ['array'] },
  ],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The results of the scalar function of that name, which takes one argument, for each element.',
  example: "array_map('abs', list)",
  special: 'arrayMap',
});
