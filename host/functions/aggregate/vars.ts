import { defineAggregate } from '../define.js';

export default defineAggregate('vars', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Sample variance.',
  example: 'vars(temp)',
});
