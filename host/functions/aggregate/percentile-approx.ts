import { defineAggregate } from '../define.js';

export default defineAggregate('percentileApprox', {
  args: [
    { name: 'value', type: 'number' },
    { name: 'fraction', type: 'number' },
  ],
  returns: 'float',
  doc:
    'Value below which the fraction (0 to 1) of the values lies, from a sketch of at most 32 KB a group in place ' +
    'of all values: within 1 % of the value that percentile_disc gives for large groups; below 500 rows it may be ' +
    'the value before that one: it stands at (n - 1) * fraction, cut. Values that span more than 17 decades are ' +
    'less exact near zero.',
  example: 'percentile_approx(temp, 0.99)',
});
