import { defineFunction, perRow } from '../define.js';
import { integerCell } from './arguments.js';
import { integerOf, neighboursOf } from './cells.js';

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
