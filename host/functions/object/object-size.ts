import { objectOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'object_size',
  category: 'object',
  args: [{ name: 'object', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of members of the object, 0 for null.',
  example: 'object_size(object)',
  call: perRow('handles', (object) => BigInt(object == null ? 0 : Object.keys(objectOf(object)).length)),
});
