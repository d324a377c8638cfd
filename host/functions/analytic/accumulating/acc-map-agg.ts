import { defineFunction } from '../../define.js';

/**
 * @example
 * {"device":"oven","temperature":180} => {"oven":180}
 * {"device":"press","temperature":20} => {"oven":180,"press":20}
 * {"device":"oven","temperature":190} => {"oven":190,"press":20}
 */
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
