// The export list of the kernels, nothing else.
export { alloc, bytesInUse, bytesOfWorkspace, free, setMemoryLimit } from './mem/alloc';
export { programFree, programNew } from './ops/vm';
export { hostScratch } from './ops/call/index';
export { setValueLimit } from './ops/result';
export { inletAt, inletFree, inletNew, inletRoom } from './tree/inlet';
export { endInput, feed, resetInput, streamClose, streamOpen } from './tree/feed';
export {
  sourceBytes,
  sourceDecodeErrors,
  sourceMessages,
  sourceOversized,
  sourceRelease,
  sourceRetype,
  sourceUse,
  sourceUseAt,
} from './source/source';
export {
  answerBegin,
  answerBlocks,
  answerFail,
  answerRows,
  answersAsked,
  answersFound,
  waitingBatches,
  waitingFirst,
  waitingLast,
  waitingRows,
} from './lookup/asking/answer';
export { gatheredBatch, gatheringFirst, gatheringNext } from './encode/gathering';
export {
  answerEnd,
  clockSetBack,
  currentNode,
  evaluate,
  finishWork,
  flush,
  kernelInit,
  loadedSetBack,
  nodeAdd,
  nodeRemove,
  nodeSetBack,
  registerAt,
  tick,
  workOn,
} from './tree/tree';
export { tableCount, tableJson } from './join/message/read';
export { setHashSeed } from './value/bytes';
export { analyticForgotten, analyticPartitions } from './analytic/analytic';
export { askForgotten, askPartitions } from './lookup/asking/partitions';
export { asofForgotten, asofKept } from './join/asof/state';
export { dedupWaiting } from './order/dedup';
export { windowForgotten, windowPartitions } from './window/window';
export { eventTimeAhead, eventTimeDropped, eventTimeWaiting, eventTimeWatermark } from './order/event-time';
export { textAt } from './value/text';
export { measureAll } from './node/latency';
export { nextDeferred, setLongRows } from './node/deferred';
export { beginWork, timeInWork } from './node/longest';
export { deferredResults } from './node/operator';
export { nextDeadline } from './node/timers';
export { nodeMove } from './tree/move';
export { sampleOften } from './node/timing';
export { failureCount, lastInvocation, recordsIn, recordsOut } from './node/node';
export { nodeEmpty, nodeKeeps, nodeLoad, nodeSave, nodeTakes, streamLoad, streamSave } from './tree/saving';
export { loadBegin, loadEnd, loadOutcome, partNext, partOwner, partsPassed } from './state/reader';
export { saveBegin, saveEnd } from './state/writer';
export {
  snapshotCount,
  snapshotFree,
  snapshotLeast,
  snapshotLive,
  snapshotNew,
  snapshotSerial,
  snapshotSetNumbers,
  snapshotSets,
  snapshotTaken,
  snapshotWrite,
} from './rows/snapshot';
export {
  loadedSnapshotFill,
  loadedSnapshotFree,
  loadedSnapshotMoveOn,
  loadedSnapshotNew,
  loadedSnapshotUse,
  loadedSnapshotWant,
} from './rows/loaded-snapshot';
