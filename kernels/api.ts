/**
 * The kernel as its users see it: streams that turn bytes into batches, operator nodes below them, outputs given to a
 * callback. `kernels/index.ts` implements it; nothing else touches Wasm memory.
 */

import type { LoadFault } from './gen/layouts.js';
import type { NodeHandle, StreamHandle } from './memory/handles.js';
import type { ColumnType, ColumnUse, ConstValue, NodePlan, Program } from './plan/ir.js';
import type { MessageTypes } from './plan/message-types.js';
import type { LoadedSnapshot } from './snapshot-api.js';
import type { CarriedColumn, CarriedColumns } from './values/carried.js';
import type { Histogram } from './values/histogram.js';
import type { Value, ValueAccess } from './values/value.js';

export type { NodeHandle, StreamHandle } from './memory/handles.js';

/** Framing that cuts the bytes given to `feed` into messages. */
export type Framing =
  /** MQTT control packets; PUBLISH becomes messages, all others go to `onPacket`. */
  | 'mqtt'
  /** Line feed after each message (a carriage return before it is dropped); empty lines are messages too. */
  | 'lines'
  /** u32 little-endian payload length, u32 metadata length, metadata (a JSON object or nothing), payload. */
  | 'frames';

/** Decoder in the host that makes JSON of messages in a custom format. */
export interface Decoder {
  /** Number of the host function that turns the bytes of each message into JSON text, or into null; 0: it is JSON. */
  readonly fn: number;
  /** Prefix of errors about the text that the decoder gave. */
  readonly errorsBeginWith: string;
  /** A column that has messages of another format. */
  readonly payload?: { readonly field: string /** As that of the message. */; readonly fn: number };
}

export interface StreamSpec {
  framing: Framing;
  /** MQTT protocol level: 4 (3.1.1) or 5; only with framing mqtt. */
  mqttVersion?: 4 | 5;
  /**
   * `rows`: the engine's own binary form; `delimited`: fields with `delimiter` between them; `form`:
   * application/x-www-form-urlencoded; `coded`: `decoder` makes JSON of them; `fields`: names and texts with their
   * lengths, as a source has cut them; `protobuf`: of `messages`.
   */
  format: 'json' | 'binary' | 'rows' | 'delimited' | 'form' | 'coded' | 'fields' | 'protobuf';
  delimiter?: string;
  decoder?: Decoder;
  /** Types of protobuf messages. */
  messages?: MessageTypes;
  /** Declared columns, or null for a schemaless stream. */
  schema: { name: string; type: ColumnType; default?: ConstValue }[] | null;
  /** Value of the stream option STRICT_VALIDATION. */
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
   * Encode node that wrote the chunk. Rules with equal plans share a node: whoever added it takes a copy for each of
   * its sinks.
   */
  node: NodeHandle;
  /** Host handle given by the `addNode` call that made the node; callers that share the node go by `node`. */
  host: number;
  /** The bytes; a view into Wasm memory, valid only during the callback. */
  bytes: Uint8Array;
  /**
   * End offset of each message within `bytes` with framing `messages`, else null; valid only during the callback. With
   * `head` in the plan, a head stands before each message, has an end of its own and counts as a message. The head has
   * the rows of the message as JSON, in an array unless `sendSingle`; before an error it is the error's text.
   */
  ends: Uint32Array | null;
  messages: number;
  rows: number;
  /** Indexes in `ends` of messages that are the text of an error instead of a result, with framing `messages`. */
  errors: ReadonlySet<number>;
}

/** Watermark and counters of an event-time node. */
export interface Timeliness {
  /** Late rows so far; they are dropped unless a `late` node takes them. */
  late: number;
  /** Rows refused because their time lay too far ahead of the clock. */
  ahead: number;
  /** Watermark, epoch ms; 0 before the first row. */
  watermark: number;
  /** Rows that wait for the watermark to reach them. */
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
  /** Packet ids of messages taken over, to acknowledge once their results are accepted; those of QoS 2 plus 0x10000. */
  onAcknowledge(stream: StreamHandle, receipts: Uint32Array): void;
  /** Memory was exhausted when the node had to keep something: it takes no input and sends no output any more. */
  onExhausted?(node: NodeHandle): void;
  /** The timer work of a node begins; `host` is the handle in its `LinkedNode`, or 0 while a long call goes on. */
  onTick?(host: number): void;
  /**
   * The node requests the rows for `count` keys, which are lists of values: `keys[k][i]` is value k of key i. Called
   * while the kernel runs; the host calls `answer` later for the request.
   */
  onAsk?(node: NodeHandle, request: number, keys: readonly (readonly Value[])[], count: number): void;
  /**
   * As `onAsk`, for a node that requests each row by itself: `keys` has a column for each value of a key, a row for
   * each key.
   */
  onAskEach?(node: NodeHandle, request: number, keys: CarriedColumns): void;
  /** Offset of local time from UTC at a time, both ms; without it all zones are UTC. */
  zoneOffset?(zone: string, at: number): number;
  /** Calls host function `fn` over a batch; see kernels/calls/host-call.ts. */
  call(fn: number, args: HostColumns): void;
}

/** Rows of a node that wait for answers or for a time, and the requests of the node so far. */
export interface Waiting {
  /** Number of batches that wait. */
  batches: number;
  /** Number of rows that wait. */
  rows: number;
  /** Sequence number of the first entry that waits, 0: none; `last` is that of the last one. */
  first: number;
  last: number;
  /** Keys whose answer was cached or under way. */
  found: number;
  /** Keys that were requested. */
  asked: number;
}

/** Answer to a request: the rows that were found, in columns. */
export interface LookupAnswer {
  /** For each row, the index in the request of the key that found it. */
  of: ArrayLike<number>;
  /** Values by column, each as long as `of`; `undefined` where the row has none. */
  columns: Readonly<Record<string, ArrayLike<Value> | CarriedColumn>>;
  /** Errors for keys without an answer, by index in the request. */
  failed?: ReadonlyMap<number, string>;
}

/** Argument columns of a host call and the column to fill. */
export interface HostColumns {
  /** Name of the function, for its errors. */
  name?: string;
  /** Prefix of its errors. */
  errorsBeginWith?: string;
  readonly count: number;
  readonly argCount: number;
  /** Length of the longest value that `set` takes, bytes; stand-ins for a kernel have none. */
  readonly longest?: number;
  /**
   * Kind of call to a function that keeps states: `step` takes rows into the states, `merge` joins the second argument
   * to the first, undefined asks for the value. Layout of the columns: assembly/ops/call/states.ts.
   */
  readonly part?: 'step' | 'merge' | undefined;
  /**
   * Row k (0 … count-1) of argument i: null, boolean, bigint, number, string, Uint8Array, array or object; `undefined`
   * when missing.
   */
  get(i: number, k: number): unknown;
  /** Sets the result of row k: a value as `get` gives it, or text as `Utf8`. */
  set(k: number, value: unknown): void;
  fail(k: number, message: string): void;
  /**
   * Addresses of the columns in the kernel's memory, for functions that are WebAssembly; stand-ins for a kernel have
   * none.
   */
  readonly direct?: DirectColumns;
}

/** Addresses of the columns of a host call in the kernel's memory. */
export interface DirectColumns {
  readonly memory: WebAssembly.Memory;
  /** Address of the table of arguments, one entry after the other (`argument` in `gen/layouts.ts`). */
  readonly table: number;
  /** Address of the selection vector, 32 bits for each selected row. */
  readonly sel: number;
  /** Address of the values of the result column, 8 bytes each; `tags` is the address of their tags. */
  readonly vals: number;
  readonly tags: number;
  /** Tells that the results of the rows `from` to `to` (exclusive) were written. */
  written(from: number, to: number): void;
  /** Payload of the error of row k when it is not text; undefined when there is none. */
  mark(k: number): number | undefined;
  /** Reads and writes values in the kernel's memory. */
  readonly access: ValueAccess;
}

/** Time and rows of one node in a piece of work. */
export interface TimeInWork {
  readonly us: number;
  /** Part of `us` that host functions took, microseconds. */
  readonly hostUs: number;
  /** Rows that the node worked on in that time, as far as it looked at them. */
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
  /** Time that timers of the nodes below took, microseconds; 0 for all but streams and merges. */
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
  columnMap: readonly number[] | null;
  /** Handle of the host, given back with the outputs of the node. */
  host: number;
  /** Node to which a port gives its rows, or the table of a lookup. */
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
  /** Identity of the node's saved state; absent: its state is not saved. */
  saved?: SavedAs;
  /**
   * Place of the node's rule in the stream, when it may differ from that of other rules. Nodes at other places are not
   * reused for it until `shareFromNow` (kernels/streams/copy.ts) or `moveNodes` says that all are at one place.
   */
  place?: string | undefined;
}

/** Identity of the state of a node, by which it is loaded again. */
export interface SavedAs {
  /** 64 bits: equal for nodes that can take over what the other has kept, as far as its members are the same. */
  readonly identity: bigint;
  /**
   * Keys of the members of the state, 64 bits each, by list (assembly/state/members.ts) in the node's own order.
   * Loading gives each member the state that was saved with its key; other members begin empty. Without lists, all
   * members are as they were.
   */
  readonly members: readonly (readonly bigint[])[];
  /**
   * Functions of several nodes with this identity may have been divided among them in another way when they were saved.
   */
  readonly isPooled: boolean;
}

/** One or several nodes and streams whose state is saved together. */
export type Saved = NodeHandle | StreamHandle | readonly (NodeHandle | StreamHandle)[];

/** Reason why saved state was not loaded. */
export type LoadReason = Exclude<keyof typeof LoadFault, 'none'>;

/** A node or stream that is empty, because its saved state could not be loaded. */
export interface LoadFailure {
  readonly of: NodeHandle | StreamHandle;
  readonly reason: LoadReason;
  /** The reason as a sentence without its subject. */
  readonly text: string;
}

/** Result of loading saved state. */
export interface LoadReport {
  /** Number of saved parts that were loaded into nodes and streams. */
  readonly loaded: number;
  /** Number of saved parts that no node or stream took. */
  readonly unclaimed: number;
  /** Reason why the bytes ended too early; null: they are complete. */
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
   * Most rows that a window, sort or join works on at once; more rows are work in pieces (kernels/state/deferred.ts).
   * Default: all.
   */
  longRows?: number;
}

/** Access to a kernel for code that saves its state; inside kernels/ it is a `RowTransfer`. */
export interface Saving {
  /** Runs a call of the kernel. */
  run<T>(doing: string, call: () => T): T;
}

export interface Kernel {
  openStream(spec: StreamSpec): StreamHandle;
  closeStream(stream: StreamHandle): void;
  /** Adds columns to what the stream decodes (counted) and returns their index in the batch, in order. */
  useColumns(stream: StreamHandle, columns: readonly ColumnUse[]): number[];
  /**
   * Undoes one use of each column at `indexes`. `columns`: the uses that the indexes were given for, where members of
   * columns are read.
   */
  releaseColumns(stream: StreamHandle, indexes: readonly number[], columns?: readonly ColumnUse[]): void;

  /**
   * Adds an operator below a stream or a node. An equal node that exists there already (filter, encode without
   * batching, keyed table) is used again and its handle returned: keep the list of a node's users yourself. Every call
   * counts; `releaseNode` undoes one and frees node and state with the last. Release children before their parent. A
   * merge node has no parent (null); its ports are added after it with `target` and released before it. Throws
   * RangeError when the plan does not fit the kernel's limits, KernelError when its memory is exhausted.
   */
  addNode(parent: { stream: StreamHandle } | { node: NodeHandle } | null, node: LinkedNode): NodeHandle;
  releaseNode(node: NodeHandle): void;

  /** Buffer for input: fill it from its start, then call `feed`. The view is invalid after the next kernel call. */
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
  /** Sends the output that an encode node gathered for a batch (rule stopped, input ended). */
  flush(node: NodeHandle): void;
  /**
   * Answers a request of an `ask` node and sends the rows that have waited for it. Returns false when nobody waits any
   * more: it took too long, or the node was loaded anew. Throws RangeError for an answer of the wrong shape, which
   * changes nothing.
   */
  answer(node: NodeHandle, request: number, answer: LookupAnswer, now: number): boolean;
  /** Waiting rows and requests of an `ask` or `dedup` node. */
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
   * Writes the state of a node or stream: windows, groups, waiting rows, tables, gathered batches, deadlines; for a
   * stream the part of a message that was read. Between two calls of the kernel this state is complete: another kernel
   * that loads it goes on to the byte as this one would. Counters of a run are not saved, except what event time
   * refused. The bytes hold no addresses. They come in slices of at most 64 KiB, so that memory does not bound the size
   * of the state. Nodes must have been added with `saved`. The state of several nodes is one sequence of bytes.
   * @param write takes the next bytes, a view that is good during the call; must not call the kernel
   */
  saveNode(of: Saved, write: (bytes: Uint8Array) => void): void;
  /**
   * Replaces the state of a node or stream by what `saveNode` wrote; its identity must be that of the saved one.
   * Members that were saved get their state, others begin empty. State that does not fit, is damaged or has another
   * version leaves the node as if just added. Returns a report; throws only what `read` throws, and errors of the
   * kernel.
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
   * As `saveNode`, for the given streams and merge nodes and all nodes below them, in one sequence of bytes. A rule
   * that joins streams needs all of its streams and its merge node.
   */
  saveTree(roots: readonly (NodeHandle | StreamHandle)[], write: (bytes: Uint8Array) => void): void;
  /**
   * As `loadNode`, for the bytes of `saveTree`. Equal nodes get the saved states in the order in which the nodes were
   * made.
   */
  loadTree(roots: readonly (NodeHandle | StreamHandle)[], read: (into: Uint8Array) => number): LoadReport;

  /**
   * Exceptions and dropped rows of all nodes and streams so far, modulo 2^32: a cheap way to see whether there are new
   * ones.
   */
  failureCount(): number;
  counters(node: NodeHandle): NodeCounters;
  /** `busyUs` of `counters`, without the other counters. */
  busyUs(node: NodeHandle): number;
  /** Begins a piece of work of one or several calls; `timeInWork` measures it. */
  beginWork(): void;
  /** Time and rows of a node or stream in the piece of work; zeros when it was too short to be measured. */
  timeInWork(of: NodeHandle | StreamHandle): TimeInWork;
  /** Watermark and counters of an `eventTime` node. */
  timeliness(node: NodeHandle): Timeliness;
  /**
   * Numbers of partitions that an analytic node or a window keeps, and has dropped because no row came for them; for an
   * as-of join, numbers of keys.
   */
  partitions(node: NodeHandle): { kept: number; forgotten: number };
  /** Times each piece of work took in a node or stream; null while nothing was measured. */
  latencies(of: NodeHandle | StreamHandle): Histogram | null;
  streamCounters(stream: StreamHandle): StreamCounters;
  /**
   * Memory in bytes. `inUse`: all kernel objects. `workspace`: the part of them that all share for the current batch;
   * what common batches need is kept. `total`: size of the Wasm memory. `max`: its bound.
   */
  memory(): { inUse: number; workspace: number; total: number; max: number };

  /** Evaluates a program without columns on one row and returns the operand's value (constant folding). */
  evaluate(program: Program, result: number): { value: ConstValue } | { error: string };
}
