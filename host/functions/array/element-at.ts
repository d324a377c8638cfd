import { objectOf, textOf } from '../argument.js';
import { defineFunction, perRow } from '../define.js';

export default defineFunction({
  name: 'element_at',
  category: 'array',
  args: [
    { name: 'data', type: 'any' },
    { name: 'key', type: 'any' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc: 'Element of a list by its index (negative: from the end) or member of an object by its name.',
  example: 'element_at(list, 0)',
  call: perRow('propagate', (data, key) => {
    if (!Array.isArray(data)) {
      const object = objectOf(data);
      const name = textOf(key, 2);
      return Object.hasOwn(object, name) ? object[name] : null;
    }
    if ((typeof key !== 'number' && typeof key !== 'bigint') || !Number.isInteger(Number(key))) {
      throw new Error('argument 2 must be a whole number');
    }
    const index = Number(key);
    if (index >= data.length || -index > data.length) throw new Error(`index ${index} is out of range`);
    return data.at(index);
  }),
});
