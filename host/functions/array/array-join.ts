import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":["a",null,"b"]} => "a,none,b"
 */
export default defineFunction({
  name: 'array_join',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'separator', type: 'string', takes: ['string'] },
    { name: 'nullText', type: 'string', takes: ['string'], optional: true },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc:
    'Texts of the elements with the separator between them. Null elements are left out, or written as the third ' +
    'argument says.',
  example: "array_join(list, ',', 'none')",
  op: 'list.join',
});
