import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"temp":null}
 * => 2
 */
export default defineAggregate('count', {
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  doc: 'Number of values that are not null; count(*) counts rows.',
  example: 'count(*)',
});
