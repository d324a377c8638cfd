import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'last_value',
  category: 'aggregate',
  args: [
    { name: 'value', type: 'any' },
    { name: 'ignoreNull', type: 'boolean' },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'Last value of the window; with true as second argument the last one that is not null.',
  example: 'last_value(temp, true)',
  aggregate: 'lastValue',
});
