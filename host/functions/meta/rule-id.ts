import { defineFunction } from '../define.js';

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
