import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":1} => 1
 */
export default defineFunction({
  name: 'bypass',
  category: 'misc',
  args: [{ name: 'value', type: 'any' }],
  returns: 'any',
  nulls: 'handles',
  doc: 'The value itself.',
  example: 'bypass(a)',
  op: 'move.move',
});
