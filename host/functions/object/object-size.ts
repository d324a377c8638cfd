import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'object_size',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of members of the object, 0 for null.',
  example: 'object_size(object)',
  op: 'object.size',
});
