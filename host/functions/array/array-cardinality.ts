import { listOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'array_cardinality',
  category: 'array',
  args: [{ name: 'list', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of elements of the list that are not null.',
  example: 'array_cardinality(list)',
  call: perRow('handles', (list) => {
    if (list == null || (typeof list === 'object' && Object.keys(list).length === 0)) return 0n;
    return BigInt(listOf(list).filter((item) => item !== null).length);
  }),
});
