import { defineAggregate } from '../define.js';

/**
 * @example
 * {"amount":2}
 * {"amount":3.5}
 * => 5.5
 */
export default defineAggregate('sum', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  doc: 'Sum of the values that are not null; of integers an integer.',
  example: 'sum(amount)',
});
