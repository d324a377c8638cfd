import { defineAggregate } from '../define.js';

export default defineAggregate('mergeAgg', {
  args: [{ name: 'value', type: 'any' }],
  returns: 'object',
  doc: 'Members of all objects in one object, later ones win; merge_agg(*) merges rows.',
  example: 'merge_agg(*)',
});
