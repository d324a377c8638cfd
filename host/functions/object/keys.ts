import { objectOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'keys',
  category: 'object',
  args: [{ name: 'object', type: 'any' }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'Names of the members of the object.',
  example: 'keys(object)',
  call: perRow('propagate', (object) => Object.keys(objectOf(object))),
});
