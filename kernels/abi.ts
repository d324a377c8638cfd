/**
 * What both sides of the border agree on: exports and imports of the kernel, offsets within its blocks. The drawings
 * stand in assembly/flow/node.ts and assembly/flow/output.ts.
 */

/** Kinds of nodes. */
export const NodeKind = {
  source: 1,
  filter: 2,
  eventTime: 3,
  window: 4,
  sort: 5,
  limit: 6,
  encode: 7,
  merge: 8,
  port: 9,
  join: 10,
} as const;

export const NodeFlag = { sendError: 1 } as const;

/** Offsets within a node. */
export const node = {
  memory: 32,
  recordsIn: 40,
  recordsOut: 48,
  exceptions: 56,
  exceptionOff: 64,
  exceptionLen: 68,
  exceptionAt: 72,
  lastInvocation: 80,
  host: 96,
  busyUs: 112,
  tickUs: 120,
  histogram: 128,
  workRows: 144,
  workHostUs: 148,
} as const;

/** Offsets within an output segment. */
export const segment = { size: 32, host: 4, off: 8, len: 12, ends: 16, messages: 20, rows: 24 } as const;

/** Outcome of `feed`: so much more is the number of bytes that were not taken, since there is no memory to keep them. */
export const feedLeft = 256;

/** Other outcomes of `feed`, by number (ProtocolError of assembly/source/mqtt.ts). */
export const protocolErrors: Readonly<Record<number, string>> = {
  1: 'the length of a packet is malformed',
  2: 'a packet has a reserved type',
  3: 'a PUBLISH packet is malformed',
  4: 'a topic is malformed',
  5: 'the properties of a packet are malformed',
  6: 'a topic alias is unknown',
  7: 'a packet is too long',
};

/** Sizes of column blocks and operands, as in assembly/mem/layout.ts. */
export const firstConst = 0x8000;
export const firstColumn = 0x4000;

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
  eventTimeDropped(node: number): bigint;
  eventTimeAhead(node: number): bigint;
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
  measureAll(isOn: number): void;
  currentNode(): number;
  nextDeadline(): number;
  failureCount(): number;
  tick(now: number): void;
  flush(node: number, now: number): void;
  gatheredBatch(node: number): number;
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
  sourceRelease(stream: number, index: number): void;
  sourceMessages(stream: number): bigint;
  tableCount(join: number, branch: number): number;
  /** Length of the text at `textAt`, or below 0: see assembly/join/read.ts. */
  tableJson(join: number, branch: number, row: number, column: number): number;
  textAt(): number;
  sourceBytes(stream: number): bigint;
  sourceDecodeErrors(stream: number): bigint;
  sourceOversized(stream: number): bigint;
  /** 0, or why the input is not good: see assembly/flow/feed.ts. */
  feed(stream: number, inlet: number, length: number, now: number, skips: boolean | number): number;
  endInput(stream: number, inlet: number, now: number): void;
  resetInput(stream: number, inlet: number): void;
}
