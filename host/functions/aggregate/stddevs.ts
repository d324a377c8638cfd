import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":22}
 * {"temp":24}
 * => 2
 */
export default defineAggregate('stddevs', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Sample standard deviation.',
  example: 'stddevs(temp)',
});
