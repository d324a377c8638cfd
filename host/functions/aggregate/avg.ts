import { defineAggregate } from '../define.js';

export default defineAggregate('avg', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Average of the values that are not null; of integers an integer.',
  example: 'avg(temp)',
});
