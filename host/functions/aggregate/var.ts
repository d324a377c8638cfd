import { defineAggregate } from '../define.js';

export default defineAggregate('var', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Population variance.',
  example: 'var(temp)',
});
