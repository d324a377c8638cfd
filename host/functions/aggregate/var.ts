import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":22}
 * => 1
 */
export default defineAggregate('var', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Population variance.',
  example: 'var(temp)',
});
