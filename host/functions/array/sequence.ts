import { defineFunction } from '../define.js';

/**
 * @example
 * {} => [1,2,3,4,5]
 */
export default defineFunction({
  name: 'sequence',
  category: 'array',
  args: [
    { name: 'first', type: 'int' },
    { name: 'last', type: 'int' },
    { name: 'step', type: 'int', optional: true },
  ],
  returns: 'array',
  nulls: 'propagate',
  doc:
    'The integers from the first to the last by the step, which may be negative; without it by 1 or -1. Empty when ' +
    'the step leads away from the last.',
  example: 'sequence(1, 5)',
  op: 'list.sequence',
});
