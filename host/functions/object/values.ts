import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => [1,2]
 */
export default defineFunction({
  name: 'values',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'Values of the members of the object.',
  example: 'values(object)',
  op: 'object.values',
});
