import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"oven,180,up"} => "oven"
 */
export default defineFunction({
  name: 'split_value',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'separator', type: 'string' },
    { name: 'index', type: 'int', takes: ['any'] },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'One part of the text split at the separator, counted from 0.',
  example: "split_value(text, ',', 0)",
  check: ([, , index]) =>
    typeof index === 'bigint' && index < 0n ? 'argument 3 (index) must not be negative' : undefined,
  op: 'string.splitValue',
});
