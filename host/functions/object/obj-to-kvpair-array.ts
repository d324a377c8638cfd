import { objectOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'obj_to_kvpair_array',
  category: 'object',
  args: [{ name: 'object', type: 'any' }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The members of the object as objects with key and value.',
  example: 'obj_to_kvpair_array(object)',
  call: perRow('propagate', (object) => Object.entries(objectOf(object)).map(([key, value]) => ({ key, value }))),
});
