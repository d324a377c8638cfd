import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":21}
 * {"temp":20}
 * {"temp":24}
 * => 20
 */
export default defineAggregate('min', {
  args: [{ name: 'value', type: 'any', takes: ['number', 'string', 'datetime'] }],
  returns: 'any',
  doc: 'Smallest value that is not null.',
  example: 'min(temp)',
});
