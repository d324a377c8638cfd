import { defineFunction } from '../define.js';

/**
 * @example
 * {} => "172"
 */
export default defineFunction({
  name: 'conv',
  category: 'math',
  args: [
    { name: 'number', type: 'any' },
    { name: 'from', type: 'int' },
    { name: 'to', type: 'int' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc:
    'The whole number at the start of the text, read in one base (2 to 36) and written in another; null for other ' +
    'bases. A negative first base reads signed numbers, a negative second writes them; else a negative number is ' +
    'written as the unsigned one of the same 64 bits.',
  example: "conv('6E', 18, 8)",
  check: ([, ...bases]) => {
    const wrong = bases.findIndex((base) => typeof base !== 'bigint');
    return wrong < 0 ? undefined : `argument ${wrong + 2} must be an integer literal`;
  },
  op: 'convert.base',
});
