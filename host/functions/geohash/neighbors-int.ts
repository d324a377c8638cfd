import { defineFunction, perRow } from '../define.js';
import { integerCell } from './arguments.js';
import { integerOf, neighboursOf } from './cells.js';

/**
 * @example
 * each element_at(geohashNeighborsInt(geohashEncodeInt(lat, lng)), 0)
 * {"lat":52.5,"lng":13.4} => -3402816489887734705
 */
export default defineFunction({
  name: 'geohashNeighborsInt',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'any', takes: ['number'] }],
  returns: 'array',
  nulls: 'handles',
  doc: 'Geohashes of 64 bits of the eight cells around, clockwise from the north.',
  example: 'geohashNeighborsInt(hash)',
  call: perRow('handles', (hash) => neighboursOf(integerCell(hash)).map(integerOf)),
});
