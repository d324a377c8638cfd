import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":30}
 * => 29
 */
export default defineAggregate('percentileCont', {
  args: [
    { name: 'value', type: 'number' },
    { name: 'fraction', type: 'number' },
  ],
  returns: 'float',
  doc: 'Value below which the fraction (0 to 1) of the values lies, interpolated.',
  example: 'percentile_cont(temp, 0.9)',
});
