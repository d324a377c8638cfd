import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'cardinality',
  category: 'array',
  args: [{ name: 'list', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of elements of the list; 0 for anything else.',
  example: 'cardinality(list)',
  call: perRow('handles', (list) => BigInt(Array.isArray(list) ? list.length : 0)),
});
