import { defineAggregate } from '../define.js';

export default defineAggregate('count', {
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  doc: 'Number of values that are not null; count(*) counts rows.',
  example: 'count(*)',
});
