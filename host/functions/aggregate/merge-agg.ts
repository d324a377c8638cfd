import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'merge_agg',
  category: 'aggregate',
  args: [{ name: 'value', type: 'any' }],
  returns: 'object',
  nulls: 'handles',
  doc: 'Members of all objects in one object, later ones win; merge_agg(*) merges rows.',
  example: 'merge_agg(*)',
  aggregate: 'mergeAgg',
});
