import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":21}
 * {"temp":null}
 * => 20.5
 */
export default defineAggregate('avg', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Average of the values that are not null; of integers an integer.',
  example: 'avg(temp)',
});
