import { defineAggregate } from '../define.js';

export default defineAggregate('stddevs', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Sample standard deviation.',
  example: 'stddevs(temp)',
});
