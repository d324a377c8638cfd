import { defineAggregate } from '../define.js';

/**
 * @example
 * {"device":"oven"}
 * {"device":"press"}
 * => ["oven","press"]
 */
export default defineAggregate('collect', {
  args: [{ name: 'value', type: 'any' }],
  returns: 'array',
  doc: 'All values of the window as an array, nulls included; collect(*) collects rows.',
  example: 'collect(device)',
});
