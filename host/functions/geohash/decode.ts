import { defineFunction, perRow } from '../define.js';
import { letterCell } from './arguments.js';
import { placeIn } from './cells.js';

/**
 * @example
 * {"hash":"u33db"} => {"Latitude":52.52,"Longitude":13.36}
 */
export default defineFunction({
  name: 'geohashDecode',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'string', takes: ['string'] }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'Place in the cell of the geohash, as Longitude and Latitude.',
  example: 'geohashDecode(hash)',
  call: perRow('handles', (hash) => placeIn(letterCell(hash))),
});
