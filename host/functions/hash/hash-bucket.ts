import { defineFunction } from '../define.js';

/**
 * @example
 * {"device":"oven"} => 2
 * {"device":"press"} => 1
 */
export default defineFunction({
  name: 'hash_bucket',
  category: 'hash',
  args: [
    { name: 'value', type: 'any' },
    { name: 'buckets', type: 'int' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number below `buckets` by the CRC-32 of the value as text: equal values have an equal one. 0 for null.',
  example: 'hash_bucket(device, 4)',
  check: ([, buckets]) =>
    typeof buckets === 'bigint' && (buckets < 1n || buckets > 0xffffffffn)
      ? 'buckets must be from 1 to 4294967295'
      : undefined,
  op: 'convert.bucket',
});
