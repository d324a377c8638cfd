import { objectFrom, objectOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printed.js';

export default defineFunction({
  name: 'erase',
  category: 'object',
  args: [
    { name: 'object', type: 'any' },
    { name: 'names', type: 'any' },
  ],
  returns: 'struct',
  nulls: 'propagate',
  doc: 'The object without the named member or members.',
  example: 'erase(object, "a")',
  call: perRow('propagate', (object, names) => {
    const members = Object.entries(objectOf(object));
    if (typeof names !== 'string' && !Array.isArray(names)) throw new Error('argument 2 must be a string or a list');
    const gone = new Set(typeof names === 'string' ? [names] : names.map(printed));
    return objectFrom(members.filter(([name]) => !gone.has(name)));
  }),
});
