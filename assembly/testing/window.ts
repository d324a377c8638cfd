// Exports of the test kernel of the stateful operators (test/wasm/window-kernel.ts).
export { alloc, free, bytesInUse } from '../mem/alloc';
export { contextInit, setBatch, setNow, scratchReset, cols, rows, sel, selLen, rowErrors } from '../flow/context';
export { stageInit } from '../flow/stage';
export { nodeNew, nodeRelease } from '../flow/node';
export { nextDeadline, takeDue } from '../flow/timers';
export { windowOpen, windowPush, windowTick, windowWatermark, windowFree } from '../window/window';
export { eventTimeOpen, eventTimePush, eventTimeDropped, eventTimeFree } from '../window/event-time';
export { sortOpen, sortBegin, sortPush, sortEnd, sortFree } from '../window/sort';
export { emit } from '../flow/node';
