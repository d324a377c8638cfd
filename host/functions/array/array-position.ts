import { listOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'array_position',
  category: 'array',
  args: [
    { name: 'list', type: 'any' },
    { name: 'value', type: 'any' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Index of the first element that equals the value, -1 when there is none.',
  example: 'array_position(list, 3)',
  call: perRow('handles', (list, value = null) => BigInt(list == null ? -1 : listOf(list).indexOf(value))),
});
