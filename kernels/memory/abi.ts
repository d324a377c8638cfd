/** Exports of the kernel. Layouts and numbers of both sides stand in kernels/gen/layouts.ts. */

/** Exports of the kernel. Addresses and counts are u32, times epoch milliseconds. */
export interface KernelExports {
  readonly memory: WebAssembly.Memory;
  kernelInit(): number;
  alloc(size: number, account: number): number;
  free(at: number, size: number, account: number): void;
  bytesInUse(): bigint;
  bytesOfWorkspace(): bigint;
  setMemoryLimit(bytes: number): void;
  beginWork(): void;
  timeInWork(node: number): number;
  analyticForgotten(node: number): bigint;
  analyticPartitions(node: number): bigint;
  askForgotten(node: number): bigint;
  askPartitions(node: number): number;
  windowForgotten(node: number): bigint;
  windowPartitions(node: number): number;
  asofForgotten(node: number): bigint;
  asofKept(node: number): bigint;
  eventTimeDropped(node: number): bigint;
  eventTimeAhead(node: number): bigint;
  eventTimeWatermark(node: number): number;
  eventTimeWaiting(node: number): number;
  setValueLimit(bytes: number): void;
  setHashSeed(a: number, b: number, c: number, d: number, e: number, f: number): void;
  nodeAdd(
    kind: number,
    parent: number,
    flags: number,
    host: number,
    program: number,
    programLen: number,
    spec: number,
    specLen: number,
    now: number,
  ): number;
  nodeRemove(node: number): void;
  /** See assembly/tree/move.ts. */
  nodeMove(node: number, to: number): void;
  sampleOften(isOn: number): void;
  measureAll(isOn: number): void;
  currentNode(): number;
  nextDeadline(): number;
  failureCount(): number;
  recordsIn(node: number): bigint;
  recordsOut(node: number): bigint;
  lastInvocation(node: number): number;
  tick(now: number): void;
  clockSetBack(ms: number, now: number): void;
  nodeSetBack(node: number, ms: number): void;
  loadedSetBack(node: number, ms: number): void;
  flush(node: number, now: number): void;
  /** Deferred work: see assembly/node/deferred.ts. */
  setLongRows(rows: number): void;
  workOn(us: number): number;
  finishWork(node: number): void;
  nextDeferred(node: number): number;
  deferredResults(node: number): number;
  /** Answers to what nodes ask for: see assembly/lookup/asking/answer.ts. */
  answerBegin(node: number, request: number, now: number): number;
  answerBlocks(count: number): number;
  answerRows(blocks: number, names: number, count: number, rows: number): void;
  answerFail(list: number, text: number, length: number): void;
  answerEnd(node: number): void;
  waitingBatches(node: number): number;
  waitingFirst(node: number): number;
  waitingLast(node: number): number;
  waitingRows(node: number): number;
  dedupWaiting(node: number): number;
  answersFound(node: number): bigint;
  answersAsked(node: number): bigint;
  gatheredBatch(node: number): number;
  gatheringFirst(root: number): number;
  gatheringNext(node: number): number;
  evaluate(program: number, now: number): void;
  programNew(at: number, len: number, account: number): number;
  programFree(program: number): void;
  registerAt(index: number): number;
  hostScratch(size: number, isCounted: boolean | number): number;
  inletNew(): number;
  inletFree(inlet: number): void;
  inletAt(inlet: number): number;
  inletRoom(inlet: number): number;
  streamOpen(spec: number, specLen: number): number;
  streamClose(stream: number): void;
  /** Index of the column, or below 0: -1 memory exhausted, -3 too many columns. */
  sourceUse(stream: number, kind: number, name: number, nameLen: number, type: number): number;
  sourceUseAt(stream: number, index: number, kind: number, name: number, nameLen: number, type: number): number;
  sourceRelease(stream: number, index: number): void;
  /** 0 when memory is exhausted. */
  sourceRetype(stream: number, index: number, type: number): number;
  sourceMessages(stream: number): bigint;
  tableCount(join: number, branch: number): number;
  /** Length of the text at `textAt`, or below 0: see assembly/join/message/read.ts. */
  tableJson(join: number, branch: number, row: number, column: number): number;
  textAt(): number;
  sourceBytes(stream: number): bigint;
  sourceDecodeErrors(stream: number): bigint;
  sourceOversized(stream: number): bigint;
  /** 0, or why the input is not good: see assembly/tree/feed.ts. */
  feed(stream: number, inlet: number, length: number, now: number, skips: boolean | number): number;
  endInput(stream: number, inlet: number, now: number): void;
  /** Saved state: see assembly/tree/saving.ts, assembly/state/. Identities are u64, outcomes a LoadFault. */
  saveBegin(): number;
  saveEnd(): void;
  nodeKeeps(node: number): number;
  /** `members`: address of the keys of the state's members (assembly/state/members.ts); 0: there are none. */
  nodeSave(node: number, identity: bigint, members: number): void;
  streamSave(stream: number, inlet: number, identity: bigint): void;
  loadBegin(): number;
  loadEnd(): void;
  loadOutcome(): number;
  partNext(): number;
  partOwner(): bigint;
  partsPassed(): number;
  nodeTakes(node: number, members: number): number;
  nodeLoad(adds: boolean | number): number;
  nodeEmpty(node: number): void;
  streamLoad(stream: number, inlet: number): number;
  resetInput(stream: number, inlet: number): void;
  /**
   * Rows and groups that are saved apart: see assembly/rows/snapshot.ts, assembly/agg/save/walk.ts,
   * assembly/rows/loaded-snapshot.ts.
   */
  snapshotNew(chain: number, segment: number, serial: number, small: number, smallSets: number): number;
  snapshotTaken(): void;
  snapshotCount(snapshot: number): number;
  snapshotSerial(snapshot: number): number;
  snapshotSets(snapshot: number): number;
  snapshotSetNumbers(): number;
  snapshotLeast(snapshot: number): number;
  snapshotLive(snapshot: number): number;
  snapshotWrite(snapshot: number, most: number): number;
  snapshotFree(snapshot: number): void;
  loadedSnapshotNew(least: number, count: number, fresh: number): number;
  loadedSnapshotFill(loadedSnapshot: number, runs: number): number;
  loadedSnapshotMoveOn(loadedSnapshot: number, least: number, count: number, fresh: number): number;
  loadedSnapshotUse(loadedSnapshot: number): void;
  loadedSnapshotWant(loadedSnapshot: number, number: number): number;
  loadedSnapshotFree(loadedSnapshot: number): void;
}
