import { defineFunction } from '../define.js';

/**
 * @example
 * each length(rule_id()) > 0
 * {} => true
 */
export default defineFunction({
  name: 'rule_id',
  category: 'meta',
  args: [],
  returns: 'string',
  nulls: 'handles',
  doc: 'Id of the rule.',
  example: 'rule_id()',
  special: 'ruleId',
});
