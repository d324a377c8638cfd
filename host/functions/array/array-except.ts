import { listOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'array_except',
  category: 'array',
  args: [
    { name: 'list', type: 'any' },
    { name: 'other', type: 'any' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'The different elements of the first list that are not in the second.',
  example: 'array_except(list, other)',
  call: perRow('handles', (list, other) => {
    if (list == null) return null;
    const known = new Set(other == null ? [] : listOf(other, 2));
    return [...new Set(listOf(list))].filter((item) => !known.has(item));
  }),
});
