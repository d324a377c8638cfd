import { defineFunction, perRow } from '../define.js';
import { integerCell } from './arguments.js';
import { boxOf } from './cells.js';

/**
 * @example
 * each geohashBoundingBoxInt(geohashEncodeInt(lat, lng))->MaxLat
 * {"lat":52.5,"lng":13.4} => 52.50000001396984
 */
export default defineFunction({
  name: 'geohashBoundingBoxInt',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'any', takes: ['number'] }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'Bounds of the cell of the geohash of 64 bits: MinLat, MaxLat, MinLng and MaxLng.',
  example: 'geohashBoundingBoxInt(hash)',
  call: perRow('handles', (hash) => boxOf(integerCell(hash))),
});
