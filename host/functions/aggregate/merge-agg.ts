import { defineAggregate } from '../define.js';

/**
 * @example
 * {"temp":20}
 * {"humidity":50}
 * {"temp":21}
 * => {"humidity":50,"temp":21}
 */
export default defineAggregate('mergeAgg', {
  args: [{ name: 'value', type: 'any' }],
  returns: 'object',
  doc: 'Members of all objects in one object, later ones win; merge_agg(*) merges rows.',
  example: 'merge_agg(*)',
});
