import { defineFunction, perRow } from '../define.js';
import { letterCell } from './arguments.js';
import { boxOf } from './cells.js';

/**
 * @example
 * {"hash":"u33db"} => {"MaxLat":52.55859375,"MaxLng":13.4033203125,"MinLat":52.5146484375,"MinLng":13.359375}
 */
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
