import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1.235} => 1.24
 * {"x":-1.235} => -1.24
 */
export default defineFunction({
  name: 'round',
  category: 'math',
  args: [
    { name: 'x', type: 'number' },
    { name: 'places', type: 'number', optional: true },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Rounds half away from zero, to whole numbers or to the places given.',
  example: 'round(x, 2)',
  op: 'math.round',
});
