import { defineAggregate } from '../define.js';

export default defineAggregate('sum', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Sum of the values that are not null; of integers an integer.',
  example: 'sum(amount)',
});
