export { objectItems, objectKeys, objectPairs, objectSize, objectValues } from './parts';
export { objectErase, objectPick } from './pick';
export { objectConstruct, objectFromItems, objectFromLists, objectFromPairs } from './make';
