import { listOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'array_contains_any',
  category: 'array',
  args: [
    { name: 'list', type: 'any' },
    { name: 'other', type: 'any' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the two lists have an element in common.',
  example: 'array_contains_any(list, other)',
  call: perRow('handles', (list, other) => {
    if (list == null) return false;
    const known = new Set(listOf(other, 2));
    return listOf(list).some((item) => known.has(item));
  }),
});
