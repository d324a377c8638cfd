import { defineAggregate } from '../define.js';

export default defineAggregate('stddev', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Population standard deviation.',
  example: 'stddev(temp)',
});
