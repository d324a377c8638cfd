/**
 * The kernel as its users see it: streams that turn bytes into batches, operator nodes below them, outputs given to a
 * callback. `kernels/index.ts` implements it; nothing else touches Wasm memory.
 */

import type { LoadFault } from './gen/layouts.js';
import type { NodeHandle, StreamHandle } from './memory/handles.js';
import type { ColumnType, ColumnUse, ConstValue, NodePlan, Program } from './plan/ir.js';
import type { CarriedColumn, CarriedColumns } from './values/carried.js';
import type { Histogram } from './values/histogram.js';
import type { Value, ValueAccess } from './values/value.js';

export type { NodeHandle, StreamHandle } from './memory/handles.js';

/** How the bytes given to `feed` are cut into messages. */
export type Framing =
  /** MQTT control packets; PUBLISH becomes messages, all others go to `onPacket`. */
  | 'mqtt'
  /** Line feed after each message (a carriage return before it is dropped); empty lines are messages too. */
  | 'lines'
  /** u32 little-endian payload length, u32 metadata length, metadata (a JSON object or nothing), payload. */
  | 'frames';

/** What makes JSON of messages in a form of their own. */
export interface Decoder {
  /** Host function that gets the bytes of messages and gives the text of each, or null when there are no rows in it. */
  readonly fn: number;
  /** In front of what is wrong with a text that it gave. */
  readonly errorsBeginWith: string;
}

export interface StreamSpec {
  framing: Framing;
  /** MQTT protocol level: 4 (3.1.1) or 5; only with framing mqtt. */
  mqttVersion?: 4 | 5;
  /**
   * `rows`: the engine's own binary form; `delimited`: fields with `delimiter` between them; `form`:
   * application/x-www-form-urlencoded; `coded`: `decoder` makes JSON of them.
   */
  format: 'json' | 'binary' | 'rows' | 'delimited' | 'form' | 'coded';
  delimiter?: string;
  decoder?: Decoder;
  /** Declared columns, or null for a schemaless stream. */
  schema: { name: string; type: ColumnType; default?: ConstValue }[] | null;
  /** STRICT_VALIDATION. */
  strict: boolean;
  /** Whole numbers of undeclared columns are 64-bit integers (`useInt64ForWholeNumber`). */
  wholeNumbersAreInts: boolean;
  /** Deepest nesting accepted; deeper payloads are errors. */
  maxDepth: number;
  /** Longest message accepted, bytes; longer ones are counted as errors and skipped. */
  maxMessageBytes: number;
}

/** Output of an encode node: complete messages. */
export interface OutputChunk {
  /**
   * The node that wrote it. Rules with equal plans share a node: whoever added it takes a copy for each of its sinks.
   */
  node: NodeHandle;
  /** Host handle given by the `addNode` call that made the node; callers that share the node go by `node`. */
  host: number;
  /** The bytes; a view into Wasm memory, valid only during the callback. */
  bytes: Uint8Array;
  /**
   * With framing `messages`: end offset of each message within `bytes`; valid only during the callback, too. With
   * `head` in the plan each message has a head before it, which has an end of its own and counts as a message: its rows
   * as JSON, an array but for `sendSingle`; the text of an error before one.
   */
  ends: Uint32Array | null;
  messages: number;
  rows: number;
  /** With framing `messages`: places among `ends` of those that are the text of an error in the place of a result. */
  errors: ReadonlySet<number>;
}

/** What event time has done so far. */
export interface Timeliness {
  /** Rows that came too late; they are dropped unless a node takes them. */
  late: number;
  /** Rows refused because they lay too far ahead. */
  ahead: number;
  /** How far time has come, epoch ms; 0 before the first row. */
  watermark: number;
  /** Rows that wait for time to reach them. */
  waiting: number;
}

export interface HostCalls {
  /**
   * Takes the output of a node; called while `feed` and `tick` run, must not call the kernel. `now`: wall clock, epoch
   * ms, when it was handed out together with that of other nodes.
   */
  onOutput(chunk: OutputChunk, now: number): void;
  /** MQTT packets other than PUBLISH, in order; a view valid during the call. */
  onPacket(stream: StreamHandle, packet: Uint8Array): void;
  /** Messages taken over: packet ids to acknowledge once the results are accepted, those of QoS 2 plus 0x10000. */
  onAcknowledge(stream: StreamHandle, receipts: Uint32Array): void;
  /** The node had to keep something and memory is exhausted: it takes nothing in and sends nothing any more. */
  onExhausted?(node: NodeHandle): void;
  /** The work of a node begins that asked for this time; `host` is that of its `LinkedNode`. 0: a long call goes on. */
  onTick?(host: number): void;
  /**
   * The node asks for the rows of `count` lists of values: `keys[k][i]` is value k of list i. `answer` is to be called
   * later for the request, from outside; called while the kernel runs.
   */
  onAsk?(node: NodeHandle, request: number, keys: readonly (readonly Value[])[], count: number): void;
  /** As `onAsk` of a node whose rows ask each by itself: a column for each value of a list, a row for each list. */
  onAskEach?(node: NodeHandle, request: number, keys: CarriedColumns): void;
  /** Offset of local time from UTC at a time, both ms; without it all zones are UTC. */
  zoneOffset?(zone: string, at: number): number;
  /** Calls host function `fn` over a batch; see kernels/calls/host-call.ts. */
  call(fn: number, args: HostColumns): void;
}

/** What waits for answers, or for a time. */
export interface Waiting {
  /** Batches of rows. */
  batches: number;
  /** Rows of these. */
  rows: number;
  /** Numbers of what came first and last of all that waits, 0: nothing does. */
  first: number;
  last: number;
  /** Lists of values for which an answer was there, or under way. */
  found: number;
  /** Lists that were asked for. */
  asked: number;
}

/** Rows that were found, in columns. */
export interface LookupAnswer {
  /** For each row the list of values that it was found by, by its position in the request. */
  of: ArrayLike<number>;
  /** Values by column, each as long as `of`; `undefined` where the row has none. */
  columns: Readonly<Record<string, ArrayLike<Value> | CarriedColumn>>;
  /** Lists for which there is no answer, with the reason. */
  failed?: ReadonlyMap<number, string>;
}

/** Argument columns of a host call and the column to fill. */
export interface HostColumns {
  /** Name of the function, for its errors. */
  name?: string;
  /** In front of its errors. */
  errorsBeginWith?: string;
  readonly count: number;
  readonly argCount: number;
  /**
   * What is asked of a function that keeps states: to take rows into them (`step`), to join the second argument to the
   * first (`merge`); undefined the value. How the columns stand then: assembly/ops/call/states.ts.
   */
  readonly part?: 'step' | 'merge' | undefined;
  /**
   * Row k (0 … count-1) of argument i: null, boolean, bigint, number, string, Uint8Array, array or object; `undefined`
   * when missing.
   */
  get(i: number, k: number): unknown;
  set(k: number, value: unknown): void;
  fail(k: number, message: string): void;
  /**
   * The columns as they lie in the memory of the kernel, for code that is WebAssembly itself; left out by what stands
   * for it.
   */
  readonly direct?: DirectColumns;
}

/** Where the columns of a host call lie: addresses in the kernel's memory. */
export interface DirectColumns {
  readonly memory: WebAssembly.Memory;
  /** Where each argument lies, one after the other (`argument` in `gen/layouts.ts`). */
  readonly table: number;
  /** Rows of the batch that are selected, 32 bits each. */
  readonly sel: number;
  /** The result column: 8 bytes of each row, and its tag. */
  readonly vals: number;
  readonly tags: number;
  /** The results of these rows (`to` exclusive) were written there. */
  written(from: number, to: number): void;
  /** The payload that was written as the error of a row and is no text; undefined when there is none. */
  mark(k: number): number | undefined;
  /** Reads and writes values there. */
  readonly access: ValueAccess;
}

/** What a node took of a piece of work. */
export interface TimeInWork {
  readonly us: number;
  /** The part of it in functions of the host, µs. */
  readonly hostUs: number;
  /** Rows that it was at work on meanwhile, as far as they were looked at. */
  readonly rows: number;
}

export interface NodeCounters {
  recordsIn: number;
  recordsOut: number;
  exceptions: number;
  lastException: string;
  /** Epoch milliseconds, 0 never. */
  lastExceptionAt: number;
  lastInvocation: number;
  memoryBytes: number;
  /** Time spent in the node itself, microseconds (sampled). */
  busyUs: number;
  /** Time that timers of the nodes below took, microseconds; of streams and merges, otherwise 0. */
  tickUs: number;
}

export interface StreamCounters extends NodeCounters {
  messages: number;
  bytes: number;
  /** Payloads that did not decode. */
  decodeErrors: number;
  oversized: number;
}

/** A node of a rule's plan with its columns and functions resolved to this stream. */
export interface LinkedNode {
  plan: NodePlan;
  /** For operands over a source batch: column i of the rule is column columnMap[i] of the stream. */
  columnMap: number[] | null;
  /** Given back with outputs. */
  host: number;
  /** Of a port: the node that it gives its rows to. Of a lookup: its table. */
  target?: NodeHandle;
  /**
   * Rows that fail in or before this node travel on to be reported at the sink (rule option `sendError`; the same for
   * all nodes of a rule). Without it: as the output of an encode node says, otherwise no.
   */
  sendError?: boolean;
  /** Wall clock, epoch ms: the start of the rule, from which the first window counts; Date.now() when left out. */
  now?: number;
  /** Time zone by its name: windows of days end at its midnight, those of hours count from there. Default UTC. */
  zone?: string;
  /** What the node keeps may be saved, as this. */
  saved?: SavedAs;
  /**
   * Of a node below a stream: names the place in the stream where its rule goes on, if that may be another one than
   * that of others. Nodes of other places are not used again for it until `shareFromNow` (kernels/streams/copy.ts) or
   * `moveNodes` says that all are at one place.
   */
  place?: string | undefined;
}

/** Identity of the state of a node, by which it is loaded again. */
export interface SavedAs {
  /** 64 bits: equal for nodes that can take over what the other has kept, as far as its members are the same. */
  readonly identity: bigint;
  /**
   * Keys of what it keeps, each 64 bits that say what the member means; list by list as assembly/state/members.ts names
   * them, in the order of the node's own. What is loaded goes to the members with its keys, others begin empty. Without
   * lists all of them are as they were.
   */
  readonly members: readonly (readonly bigint[])[];
  /** Functions of several nodes of this identity may be divided among them otherwise since. */
  readonly isPooled: boolean;
}

/** What has state of its own, alone or with others. */
export type Saved = NodeHandle | StreamHandle | readonly (NodeHandle | StreamHandle)[];

/** Why what was saved is not there. */
export type LoadReason = Exclude<keyof typeof LoadFault, 'none'>;

/** A node or stream that is empty, since what was saved does not fit it. */
export interface LoadFailure {
  readonly of: NodeHandle | StreamHandle;
  readonly reason: LoadReason;
  /** The reason as a sentence without its subject. */
  readonly text: string;
}

/** What came of saved state. */
export interface LoadReport {
  /** Nodes and streams that hold what was saved. */
  readonly loaded: number;
  /** Parts without a node. */
  readonly unclaimed: number;
  /** What ended the bytes before their end; null: they are whole. */
  readonly brokenOff: LoadReason | null;
  readonly failed: readonly LoadFailure[];
}

export interface KernelOptions {
  /** Bound of the Wasm memory; what goes beyond fails with a KernelError. Default: 4 GiB, the most there can be. */
  maxMemoryBytes?: number;
  /**
   * Length of the longest value that functions and aggregates may make, bytes; a longer one is an error. Default: 16
   * MiB.
   */
  maxValueBytes?: number;
  /** Times every batch and keeps histograms; otherwise a sample is timed. */
  measuresAll?: boolean;
  /**
   * Rows that a window, sort or join works on at once: with more it does so piece by piece (kernels/state/deferred.ts).
   * Default: all.
   */
  longRows?: number;
}

/** What saving needs of a kernel; the kernel alone knows what else it is. */
export interface Saving {
  /** Runs a call of the kernel. */
  run<T>(doing: string, call: () => T): T;
}

/** What a snapshot is to be. */
export interface SnapshotOrder {
  /** Snapshots of one chain write rows once; a number that no other chain of this kernel has or had, above 0. */
  readonly chain: number;
  /** Number of the snapshot in its chain, from 0 to 65,000: of the segment that it writes. */
  readonly segment: number;
  /** `serial` of the snapshot before, 0 of the first. */
  readonly serial: number;
  /** Rows, and groups, that have so many values or bytes of text at most are saved at once. */
  readonly small: number;
  /** All groups are saved at once: no memory is needed to keep them as they were. */
  readonly atOnce?: boolean;
}

/** Rows and groups as they were at one moment, that are written later. It must be closed. */
export interface Snapshot {
  /** Pages of which rows are to be written, and runs of groups. */
  readonly pages: number;
  /**
   * Its sets of groups have numbers from this one on, those of snapshots before it have smaller ones; undefined when it
   * has none.
   */
  readonly fresh: number | undefined;
  /** Number of the next new page of the chain, and of the oldest that the snapshot has. */
  readonly serial: number;
  readonly least: number;
  /** How many pages and runs of the snapshot have rows in each segment of the chain, that of the snapshot last. */
  readonly live: Uint32Array;
  /**
   * Writes some more bytes than `most`, and says whether there is more. `changed`: the rows are not what they were, the
   * snapshot is worth nothing; `memory`: later there may be room.
   */
  write(most: number, write: (bytes: Uint8Array) => void): 'all' | 'more' | 'changed' | 'memory';
  close(): void;
}

/** Pages of segments that were read, for nodes that are loaded then. It must be closed. */
export interface LoadedSnapshot {
  /** Address in the kernel, 0 when it is closed. */
  readonly at: number;
  /** Reads `runs` runs of a segment; true when there are more. Throws what is wrong with it, and what `read` throws. */
  fill(runs: number, read: (into: Uint8Array) => number): boolean;
  close(): void;
}

export interface Kernel {
  openStream(spec: StreamSpec): StreamHandle;
  closeStream(stream: StreamHandle): void;
  /** Adds columns to what the stream decodes (counted) and returns their index in the batch, in order. */
  useColumns(stream: StreamHandle, columns: ColumnUse[]): number[];
  /**
   * Takes back one use of each column; `columns`: those that the places were given for, where members of them are read.
   */
  releaseColumns(stream: StreamHandle, indexes: number[], columns?: readonly ColumnUse[]): void;

  /**
   * Adds an operator below a stream or a node. An equal node that exists there already (filter, encode without
   * batching, keyed table) is used again and its handle returned: keep the list of a node's users yourself. Every call
   * counts; `releaseNode` undoes one and frees node and state with the last. Release children before their parent. A
   * merge node has no parent (null); its ports are added after it with `target` and released before it. Throws
   * RangeError when the plan does not fit the kernel's limits, KernelError when its memory is exhausted.
   */
  addNode(parent: { stream: StreamHandle } | { node: NodeHandle } | null, node: LinkedNode): NodeHandle;
  releaseNode(node: NodeHandle): void;

  /** Where to put input: at most this many bytes, then `feed`. The view dies with the next kernel call. */
  inputBuffer(stream: StreamHandle): Uint8Array;
  /**
   * Takes `length` bytes from the start of the input buffer (after what the last call left over), runs all rules of the
   * stream and hands out their output. The unfinished rest of the last message is kept for the next call. Returns how
   * many bytes were taken: all, unless there is no memory to keep that rest; give the others again when there may be
   * some. Throws ProtocolError when the bytes are no MQTT: drop the connection, then `resetInput`.
   * @param now wall clock, epoch ms
   * @param skips a message that is unfinished at the end of the input is skipped to its end, and counted as oversized
   */
  feed(stream: StreamHandle, length: number, now: number, skips?: boolean): number;
  /** Bytes of an unfinished message that are kept for the next call of `feed`. */
  unreadBytes(stream: StreamHandle): number;
  /** Ends the input: an unfinished last line is a message; batched outputs are sent. */
  endInput(stream: StreamHandle, now: number): void;
  /** Drops a half-received message (connection lost). */
  resetInput(stream: StreamHandle): void;

  /** Earliest time that a window, a lateness or a linger is due, epoch ms; Infinity when none. */
  nextDeadline(): number;
  tick(now: number): void;
  /**
   * The clock is set back by `ms`, from `now` (epoch ms): what is kept stays as old as it is. Windows that are open go
   * on as those that are open by the new time. To be called after a tick at `now`.
   */
  setClockBack(ms: number, now: number): void;
  /** Sends what encode nodes gathered for batches (rule stopped, input ended). */
  flush(node: NodeHandle): void;
  /**
   * Answers a request of an `ask` node and sends the rows that have waited for it. Returns false when nobody waits any
   * more: it took too long, or the node was loaded anew. Throws RangeError for an answer of the wrong shape, which
   * changes nothing.
   */
  answer(node: NodeHandle, request: number, answer: LookupAnswer, now: number): boolean;
  /** Of an `ask` node. */
  waiting(node: NodeHandle): Waiting;
  /** Number of the batch that an encode node gathers, which changes when it is sent; 0 while no rows are held. */
  gatheredBatch(node: NodeHandle): number;
  /** The encode nodes below the stream that hold rows for a batch now. */
  gathering(stream: StreamHandle): readonly NodeHandle[];

  /**
   * Rows that a join keeps of a table, oldest first: the JSON text of each of the `columns` that its port gives, null
   * where the row has no value.
   */
  tableRows(join: NodeHandle, branch: number, columns: number): (string | null)[][];

  /**
   * Writes what a node or stream keeps from one input to the next: windows, groups, waiting rows, tables, gathered
   * batches, deadlines; of a stream the part of a message that was read. Between any two calls of the kernel that is
   * all there is: another kernel that loads it goes on to the byte as this one would. Counters are accounts of a run
   * and are not saved, except what event time refused. The bytes hold no addresses; they come in slices of at most 64
   * KiB, so that memory is no bound of what can be saved. Nodes must have been added with `saved`. Of several it is one
   * sequence of bytes.
   * @param write takes the next bytes, a view that is good during the call; must not call the kernel
   */
  saveNode(of: Saved, write: (bytes: Uint8Array) => void): void;
  /**
   * Puts what `saveNode` wrote in the place of what the node or stream keeps; it must have the identity of the one that
   * was saved. Of its members those that were saved get what they had, others begin empty. What does not fit, is
   * damaged or of another version leaves it as one that was just added. Returns what came of it; throws only what
   * `read` throws and errors of the kernel.
   * @param read fills the next bytes in and returns how many, 0 when there are no more; must not call the kernel
   */
  loadNode(of: Saved, read: (into: Uint8Array) => number, loadedSnapshot?: LoadedSnapshot): LoadReport;
  /** For kernels/state/snapshot.ts, which saves large numbers of rows in snapshots. */
  readonly saving: Saving;
  /**
   * The clock is behind the one by which these nodes, just loaded, were saved, by `ms` before `now`: what they hold
   * stays as old as it was. They are given in the order in which they were added.
   */
  setLoadedBack(nodes: readonly NodeHandle[], ms: number, now: number): void;
  /**
   * As `saveNode` of the streams and merge nodes given and of all nodes below them, in one sequence of bytes. A rule
   * that joins streams needs all of its streams and its merge node.
   */
  saveTree(roots: readonly (NodeHandle | StreamHandle)[], write: (bytes: Uint8Array) => void): void;
  /**
   * As `loadNode` of what `saveTree` wrote. Of equal nodes each gets what one of them kept, in the order of their
   * making.
   */
  loadTree(roots: readonly (NodeHandle | StreamHandle)[], read: (into: Uint8Array) => number): LoadReport;

  /**
   * Exceptions and dropped rows of all nodes and streams so far, modulo 2^32: a cheap look at whether there are new
   * ones.
   */
  failureCount(): number;
  counters(node: NodeHandle): NodeCounters;
  /** As `counters` has it. */
  busyUs(node: NodeHandle): number;
  /** Begins a piece of work of one or several calls; `timeInWork` measures it. */
  beginWork(): void;
  /** What a node or stream took of the work; nothing where that was too little to be measured. */
  timeInWork(of: NodeHandle | StreamHandle): TimeInWork;
  /** Of an eventTime node. */
  timeliness(node: NodeHandle): Timeliness;
  /**
   * Partitions that an analytic node or a window keeps, and that it has forgotten since nothing came for them; of an
   * as-of join its keys.
   */
  partitions(node: NodeHandle): { kept: number; forgotten: number };
  /** Times each piece of work took in a node or stream; null while nothing was measured. */
  latencies(of: NodeHandle | StreamHandle): Histogram | null;
  streamCounters(stream: StreamHandle): StreamCounters;
  /**
   * Bytes held by all kernel objects; the part of them that all share for the batch under way, of which what common
   * batches need is kept; size of the Wasm memory, and its bound.
   */
  memory(): { inUse: number; workspace: number; total: number; max: number };

  /** Evaluates a program without columns on one row and returns the operand's value (constant folding). */
  evaluate(program: Program, result: number): { value: ConstValue } | { error: string };
}
