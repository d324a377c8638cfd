import { defineFunction, perRow } from '../define.js';
import { letterCell } from './arguments.js';
import { boxOf } from './cells.js';

export default defineFunction({
  name: 'geohashBoundingBox',
  givesWay: true,
  category: 'geohash',
  args: [{ name: 'hash', type: 'string', takes: ['string'] }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'Bounds of the cell of the geohash: MinLat, MaxLat, MinLng and MaxLng.',
  example: 'geohashBoundingBox(hash)',
  call: perRow('handles', (hash) => boxOf(letterCell(hash))),
});
