import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":30}
 * => 30
 */
export default defineAggregate('percentileDisc', {
  args: [
    { name: 'value', type: 'number' },
    { name: 'fraction', type: 'number' },
  ],
  returns: 'number',
  doc: 'Smallest value that at least the fraction (0 to 1) of the values does not exceed.',
  example: 'percentile_disc(temp, 0.9)',
});
