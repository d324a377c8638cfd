import { defineFunction, perRow } from '../define.js';
import { cellAround } from './arguments.js';
import { integerOf } from './cells.js';

/**
 * @example
 * {"lat":52.5,"lng":13.4} => -3402816489887734706
 */
export default defineFunction({
  name: 'geohashEncodeInt',
  givesWay: true,
  category: 'geohash',
  args: [
    { name: 'latitude', type: 'number', takes: ['number'] },
    { name: 'longitude', type: 'number', takes: ['number'] },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Geohash of 64 bits of the place; those of the eastern half of the world are negative.',
  example: 'geohashEncodeInt(lat, lng)',
  call: perRow('handles', (latitude, longitude) => integerOf(cellAround(latitude, longitude))),
});
