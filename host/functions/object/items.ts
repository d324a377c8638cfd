import { objectOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'items',
  category: 'object',
  args: [{ name: 'object', type: 'any' }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The members of the object as lists of name and value.',
  example: 'items(object)',
  call: perRow('propagate', (object) => Object.entries(objectOf(object))),
});
