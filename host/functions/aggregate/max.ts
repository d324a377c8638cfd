import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":24}
 * {"temp":21}
 * => 24
 */
export default defineAggregate('max', {
  args: [{ name: 'value', type: 'any', takes: ['number', 'string', 'datetime'] }],
  returns: 'any',
  doc: 'Largest value that is not null.',
  example: 'max(temp)',
});
