import { defineFunction, perRow } from '../define.js';
import { cellAround } from './arguments.js';
import { lettersOf } from './cells.js';

/**
 * @example
 * {"lat":52.5,"lng":13.4} => "u33d8vmddtk4"
 */
export default defineFunction({
  name: 'geohashEncode',
  givesWay: true,
  category: 'geohash',
  args: [
    { name: 'latitude', type: 'number', takes: ['number'] },
    { name: 'longitude', type: 'number', takes: ['number'] },
  ],
  returns: 'string',
  nulls: 'handles',
  doc: 'Geohash of 12 letters of the place.',
  example: 'geohashEncode(lat, lng)',
  call: perRow('handles', (latitude, longitude) => lettersOf(cellAround(latitude, longitude))),
});
