export {
  listContains,
  listContainsAny,
  listCount,
  listElementAt,
  listLastPosition,
  listPosition,
  listPositions,
  listSize,
} from './find';
export { listConcat, listCreate, listFlatten, listJoin, listRemove, listRepeat, listSequence } from './make';
export { listDistinct, listExcept, listIntersect, listUnion } from './sets';
export { listMax, listMin, listShuffle, listSort } from './order';
export { listMap } from './each';
