/**
 * Functions that users bring, as plugins or scripts: what a rule knows of one, and the form in which a data plane runs
 * their code. The code is plain data that goes from thread to thread.
 */
import type { HostColumns } from '../../kernels/api.js';
import type { Value } from '../../kernels/values/value.js';
import type { PluginFunction, PluginManifest } from './manifest.js';

/** What the calls of a script may take. */
export interface ScriptLimits {
  /** Of the call for one row, ms. */
  readonly callMs: number;
  /** Of the calls for all rows of a batch, ms. */
  readonly batchMs: number;
  readonly memoryBytes: number;
  readonly stackBytes: number;
}

/** What the calls of a module may take. */
export interface CallLimits {
  /** Instructions of one call, as the fuel counts them. */
  readonly callFuel: bigint;
  /** Of all calls for a batch. */
  readonly batchFuel: bigint;
  /** Longest call on the thread of all rules, ms of the processor; undefined: as long as the fuel lasts. */
  readonly callMs?: number;
  /** Of all calls for a batch. */
  readonly batchMs?: number;
}

/** What a plugin is given of the machine. */
export interface WasiGrants {
  /** Times are those of the server. */
  readonly clock?: boolean | undefined;
  /** Random bytes are that. */
  readonly random?: boolean | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly args?: readonly string[] | undefined;
}

/** A script with a function of the same name. */
export interface ScriptCode {
  readonly kind: 'javascript';
  readonly name: string;
  /** Tells it from what had the name before; never used twice. */
  readonly version: number;
  readonly script: string;
  readonly limits: ScriptLimits;
}

/** A WebAssembly module; each function that it exports is a function of SQL. */
export interface WasmCode {
  readonly kind: 'wasm';
  readonly name: string;
  /** See `ScriptCode`. */
  readonly version: number;
  /** Where the module lies, made ready to run. */
  readonly path: string;
  /** What it says of its functions; undefined: they are over numbers. */
  readonly manifest?: PluginManifest | undefined;
  readonly limits: CallLimits;
  readonly wasi?: WasiGrants | undefined;
  /** It runs on a thread of its own. */
  readonly isolate?: Isolation | undefined;
}

/** A thread for a module. */
export interface Isolation {
  /** So long the calls for a batch may take before the thread is ended, ms. */
  readonly timeoutMs: number;
}

/** A field of the message that a method of a service takes or gives. */
export interface ServiceField {
  readonly name: string;
  /** `string`, `int64`, `Address` */
  readonly type: string;
}

/** How a method of a service is called over HTTP. */
export interface ServiceMethod {
  readonly name: string;
  /**
   * Fields that it takes, in the order of its arguments; null: a method without schema gets verb and path as arguments.
   */
  readonly fields: readonly ServiceField[] | null;
  /** Other than POST with all fields in the body, to the name of the method: fields in braces stand in the path. */
  readonly http?: { readonly verb: string; readonly path: string; readonly body: string } | undefined;
  /** What it gives: an object with these fields, a single value, or nothing. */
  readonly result: readonly ServiceField[] | 'value' | 'nothing';
}

/** What holds for all requests to an interface of a service. */
export interface ServiceRequests {
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates of anybody do. */
  readonly isInsecure: boolean;
  readonly retries: number;
  readonly retryMs: number;
}

/** An interface of an external service. */
export interface ServiceCode extends ServiceRequests {
  readonly kind: 'service';
  /** `shop.pricing` */
  readonly name: string;
  /** See `ScriptCode`. */
  readonly version: number;
  readonly address: string;
  /** Loopback and private addresses are allowed. */
  readonly allowPrivate: boolean;
  /** By the names of functions. */
  readonly methods: Readonly<Record<string, ServiceMethod>>;
}

/** Code that can answer at once. */
export type DirectCode = ScriptCode | WasmCode;

export type UserCode = DirectCode | ServiceCode;

/** Tells that code answers later: rows wait for it in an operator of their own. */
export function isWaiting(code: UserCode): boolean {
  return code.kind === 'service' || (code.kind === 'wasm' && code.isolate !== undefined);
}

/** A function that somebody brought. */
export interface UserFunction {
  /** As rules call it. */
  readonly name: string;
  /** Who brings it, as errors have it: `wasm plugin scale`. */
  readonly owner: string;
  /** Under which the kernel calls it. */
  readonly number: number;
  readonly code: UserCode;
  /** What it is called in the code. */
  readonly entry: string;
  /** It gets a list for each argument: the values of the rows of a group. */
  readonly isAggregate: boolean;
  /**
   * The engine keeps a state of it: of each group, of aggregates that can join two (`joined`) and others (`folded`), or
   * of each partition, of functions that look back (`analytic`).
   */
  readonly state?: 'folded' | 'joined' | 'analytic' | undefined;
  /** Smallest and largest number of arguments; null: any number. */
  readonly args: { readonly min: number; readonly max: number | null };
}

/** Fewest and most arguments of a function of a plugin. */
export function argumentCounts({ args }: PluginFunction): UserFunction['args'] {
  const needed = args.findIndex(({ optional }) => optional);
  return { min: needed < 0 ? args.length : needed, max: args.at(-1)?.variadic ? null : args.length };
}

/**
 * How the engine calls a function of a plugin. States would wait for a thread of their own: aggregates get rows there.
 */
export function callOf(
  fn: PluginFunction | undefined,
  isIsolated = false,
): Pick<UserFunction, 'isAggregate' | 'state'> {
  if (fn?.analytic !== undefined) return { isAggregate: false, state: 'analytic' };
  const { aggregate } = fn ?? {};
  if (aggregate?.save === undefined || isIsolated) return { isAggregate: aggregate !== undefined };
  return { isAggregate: true, state: aggregate.merge === undefined ? 'folded' : 'joined' };
}

/** What somebody brought under a name; without `run` nothing runs it yet. */
export interface Brought {
  /** `service shop` */
  readonly owner: string;
  readonly run?: UserFunction | undefined;
}

/** What reads or writes messages, by the name that streams and actions give it; undefined where it can't. */
export interface Codec {
  /** As errors have it: `codec frame of wasm plugin frames`. */
  readonly title: string;
  readonly decode?: UserFunction | undefined;
  readonly encode?: UserFunction | undefined;
}

/**
 * Finds a codec by SCHEMAID of a stream, `schemaId` of an action. Throws a HaumeaError with the reason when there is
 * none.
 */
export type FindCodec = (schemaId: string) => Codec;

/** Finds what users brought, by its name in any letter case. */
export interface FindBrought {
  (name: string): Brought | undefined;
  /** All of them, for suggestions. */
  readonly names?: () => readonly string[];
}

/** What is free of the memory that all code of users may have together. */
export interface MemoryRoom {
  /** Bytes. */
  readonly free: number;
  /** Why there is no more. */
  readonly reason: string;
}

/** Counts the memory of a piece of code among that of all. */
export interface CodeMemory {
  /** It has so many bytes now, none when it is closed; returns the reason why it may not have more than it had. */
  holds(bytes: number): string | undefined;
  room(): MemoryRoom;
}

/** What loaded code tells. */
export interface CodeHost {
  /** Nothing bounds what it has together with others where it is left out. */
  readonly memory?: CodeMemory;
  /** A line for the log. */
  log(line: string): void;
  /** A call had to be ended: by time, memory, a trap. `tookMs`: what nobody else had to wait for. */
  fault(reason: string, tookMs?: number): void;
}

/** Code that a data plane has loaded. */
export interface LoadedCode {
  /** Runs one of its functions over the rows of a batch; each row gets a result or an error. */
  call(entry: string, columns: HostColumns): void;
  close(): void;
}

/** What code that answers later gives for some calls: a value for each, or why there is none. */
export interface Answers {
  readonly values: readonly Value[];
  readonly failed: ReadonlyMap<number, string>;
}

/** Code that answers later, at work. */
export interface AskedCode {
  /** Calls one of its functions for each list of arguments, values as JSON has them. Several may be under way. */
  ask(entry: string, calls: readonly (readonly unknown[])[], signal: AbortSignal): Promise<Answers>;
  close(): Promise<void>;
}
