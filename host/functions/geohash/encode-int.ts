import { defineFunction, perRow } from '../define.js';
import { cellAround } from './arguments.js';
import { integerOf } from './cells.js';

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
