import { defineAggregate } from '../define.js';

/**
 * @example
 * {"device":"oven","temp":180}
 * {"device":"press","temp":20}
 * {"device":"oven","temp":190}
 * => [{"device":"oven","temp":180},{"device":"press","temp":20}]
 */
export default defineAggregate('deduplicate', {
  args: [
    { name: 'value', type: 'any' },
    { name: 'all', type: 'boolean' },
  ],
  returns: 'any',
  doc: 'Rows without repeated values; with false only the last row, and only if its value is new.',
  example: 'deduplicate(device, true)',
});
