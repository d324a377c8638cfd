import { defineAggregate } from '../define.js';

/**
 * @example
 * rows demo
 * {"temp":20}
 * {"temp":24}
 * {"temp":21}
 *
 * query percentile_approx(temp, 0.5)
 * SELECT round(percentile_approx(temp, 0.5)) AS r FROM demo GROUP BY COUNTWINDOW(3)
 * ----
 * [{"r":21}]
 */
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
