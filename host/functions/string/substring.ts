import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"temperature"} => "tem"
 */
export default defineFunction({
  name: 'substring',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'start', type: 'int' },
    { name: 'end', type: 'int', optional: true },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Bytes of the text from start to end (exclusive), counted from 0.',
  example: 'substring(text, 0, 3)',
  check: ([, start, end]) => {
    if (typeof start === 'bigint' && start < 0n) return 'argument 2 (start) must not be negative';
    if (typeof start !== 'bigint' || typeof end !== 'bigint') return undefined;
    return end < start ? 'argument 3 (end) must not be less than the start' : undefined;
  },
  op: 'string.substring',
});
