import { defineFunction, perRow } from '../define.js';
import { directionOf, integerCell } from './arguments.js';
import { integerOf, neighbourOf } from './cells.js';

/**
 * @example
 * each geohashNeighborInt(geohashEncodeInt(lat, lng), 'North')
 * {"lat":52.5,"lng":13.4} => -3402816489887734705
 */
export default defineFunction({
  name: 'geohashNeighborInt',
  givesWay: true,
  category: 'geohash',
  args: [
    { name: 'hash', type: 'any', takes: ['number'] },
    { name: 'direction', type: 'string', takes: ['string'] },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'As geohashNeighbor, of a geohash of 64 bits.',
  example: "geohashNeighborInt(hash, 'North')",
  call: perRow('handles', (hash, direction) => integerOf(neighbourOf(integerCell(hash), directionOf(direction)))),
});
