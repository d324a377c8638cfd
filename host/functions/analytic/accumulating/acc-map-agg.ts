import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'acc_map_agg',
  category: 'analytic',
  args: [
    { name: 'key', type: 'any' },
    { name: 'value', type: 'any' },
  ],
  returns: 'struct',
  nulls: 'handles',
  doc:
    'The newest value of each key so far, as an object; rows whose key is null are left out, other keys than texts ' +
    'are printed.',
  example: 'acc_map_agg(device, temperature)',
  analytic: 'accMapAgg',
});
