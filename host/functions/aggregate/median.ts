import { defineAggregate } from '../define.js';

export default defineAggregate('median', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Median of the values.',
  example: 'median(temp)',
});
