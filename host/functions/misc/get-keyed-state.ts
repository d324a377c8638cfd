import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

const types = ['bigint', 'float', 'string', 'boolean', 'datetime'];

export default defineFunction({
  name: 'get_keyed_state',
  category: 'misc',
  args: [
    { name: 'key', type: 'string', takes: ['string'] },
    { name: 'type', type: 'string' },
    { name: 'otherwise', type: 'any' },
  ],
  returns: 'any',
  nulls: 'handles',
  doc:
    'The value that a database of states has for the key, as the type says; the third argument where there is ' +
    'none. No such database can be connected yet: it is always the third argument.',
  example: "get_keyed_state('limit', 'float', 0.5)",
  check: ([, type]) =>
    type === undefined || types.includes(String(type)) ? undefined : `argument 2 must be one of ${types.join(', ')}`,
  call: perRow('handles', (key, _type, otherwise) => {
    if (typeof key !== 'string') throw new Error(`the key must be a string, not ${printed(key)}`);
    return otherwise;
  }),
});
