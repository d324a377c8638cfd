import { defineFunction } from '../define.js';

/**
 * @example
 * each rule_start() > 0
 * {} => true
 */
export default defineFunction({
  name: 'rule_start',
  category: 'meta',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'When the rule was started, in milliseconds since 1970.',
  example: 'rule_start()',
  special: 'ruleStart',
});
