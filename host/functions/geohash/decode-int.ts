import { defineFunction, perRow } from '../define.js';
import { integerCell } from './arguments.js';
import { placeIn } from './cells.js';

/**
 * @example
 * each geohashDecodeInt(geohashEncodeInt(lat, lng))
 * {"lat":52.5,"lng":13.4} => {"Latitude":52.49999998,"Longitude":13.39999999}
 */
export default defineFunction({
  name: 'geohashDecodeInt',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'any', takes: ['number'] }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'Place in the cell of the geohash of 64 bits, as Longitude and Latitude.',
  example: 'geohashDecodeInt(hash)',
  call: perRow('handles', (hash) => placeIn(integerCell(hash))),
});
