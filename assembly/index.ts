// The export list of the kernels, nothing else.
export { alloc, bytesInUse, bytesOfWorkspace, free, setMemoryLimit } from './mem/alloc';
export { programFree, programNew } from './ops/vm';
export { hostScratch } from './ops/call/index';
export { setValueLimit } from './ops/result';
export { inletAt, inletFree, inletNew, inletRoom } from './flow/inlet';
export { endInput, feed, resetInput, streamClose, streamOpen } from './flow/feed';
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
} from './lookup/answer';
export { gatheredBatch, gatheringFirst, gatheringNext } from './flow/gathering';
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
} from './flow/tree';
export { tableCount, tableJson } from './join/read';
export { setHashSeed } from './value/bytes';
export { analyticForgotten, analyticPartitions } from './analytic/analytic';
export { asofForgotten, asofKept } from './join/asof-state';
export { dedupWaiting } from './order/dedup';
export { windowForgotten, windowPartitions } from './window/window';
export { eventTimeAhead, eventTimeDropped, eventTimeWaiting, eventTimeWatermark } from './order/event-time';
export { textAt } from './value/text';
export { measureAll } from './flow/latency';
export { nextDeferred, setLongRows } from './flow/deferred';
export { beginWork, timeInWork } from './flow/longest';
export { deferredResults } from './window/results';
export { nextDeadline } from './flow/timers';
export { nodeMove } from './flow/move';
export { sampleOften } from './flow/timing';
export { failureCount, lastInvocation, recordsIn, recordsOut } from './flow/node';
export { nodeEmpty, nodeKeeps, nodeLoad, nodeSave, nodeTakes, streamLoad, streamSave } from './flow/saving';
export { loadBegin, loadEnd, loadOutcome, partNext, partOwner, partsPassed } from './state/reader';
export { saveBegin, saveEnd } from './state/writer';
export {
  snapshotCount,
  snapshotFree,
  snapshotLeast,
  snapshotLive,
  snapshotNew,
  snapshotSerial,
  snapshotSets,
  snapshotTaken,
  snapshotWrite,
} from './rows/snapshot';
export { shelfFill, shelfFree, shelfNew, shelfUse } from './rows/shelf';
