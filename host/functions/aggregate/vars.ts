import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":22}
 * {"temp":24}
 * => 4
 */
export default defineAggregate('vars', {
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  doc: 'Sample variance.',
  example: 'vars(temp)',
});
