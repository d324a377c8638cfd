import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'split_value',
  category: 'string',
  args: [{ name: 'text', type: 'string' }, { name: 'separator', type: 'string' }, { name: 'index', type: 'int' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'One part of the text split at the separator; a negative index counts from the end.',
  example: 'split_value(text, \',\', 0)',
  op: 'string.splitValue',
});
