import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":24}
 * {"temp":21}
 * => 21
 */
export default defineAggregate('median', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Median of the values.',
  example: 'median(temp)',
});
