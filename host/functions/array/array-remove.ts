import { listOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'array_remove',
  category: 'array',
  args: [
    { name: 'list', type: 'any' },
    { name: 'value', type: 'any' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'The list without the elements that equal the value.',
  example: 'array_remove(list, 3)',
  call: perRow('handles', (list, value = null) =>
    list == null ? null : listOf(list).filter((item) => item !== value),
  ),
});
