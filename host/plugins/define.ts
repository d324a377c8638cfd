/**
 * Functions of users, from plugins, scripts and services: what a rule knows of one, and their code as a data plane runs
 * it. The code is plain data that can be sent between threads.
 */
import type { HostColumns } from '../../kernels/api.js';
import type { Made } from '../../kernels/calls/message-calls.js';
import type { Value } from '../../kernels/values/value.js';
import type { PipedProgram } from '../base/structures/piped-program.js';
import type { PluginFunction, PluginManifest } from './manifest.js';
import type { PortableCode } from './portable/code.js';
import type { ServiceCode } from './service-code.js';
import type { OpenCalls } from './service-figures.js';

/** Bounds of the calls of a script. */
export interface ScriptLimits {
  /** Longest call for one row, ms. */
  readonly callMs: number;
  /** Longest time of all calls for a batch, ms. */
  readonly batchMs: number;
  readonly memoryBytes: number;
  readonly stackBytes: number;
}

/** Bounds of the calls of a module. */
export interface CallLimits {
  /** Fuel of one call. */
  readonly callFuel: bigint;
  /** Fuel of all calls for a batch. */
  readonly batchFuel: bigint;
  /** Longest call on the thread of all rules, ms of the processor; undefined: fuel alone bounds it. */
  readonly callMs?: number;
  /** Longest time of all calls for a batch, ms of the processor. */
  readonly batchMs?: number;
}

/** Access to the machine that a plugin is granted. */
export interface WasiGrants {
  /** The clock of the server. */
  readonly clock?: boolean | undefined;
  /** Random bytes that differ in each run. */
  readonly random?: boolean | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly args?: readonly string[] | undefined;
}

/** A script with a function of the same name. */
export interface ScriptCode {
  readonly kind: 'javascript';
  readonly name: string;
  /** Number that is never used twice: it tells the code from earlier code of the same name. */
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
  /** File of the module that the passes of installation have made. */
  readonly path: string;
  /** Manifest of the module; undefined when its functions are over numbers. */
  readonly manifest?: PluginManifest | undefined;
  readonly limits: CallLimits;
  readonly wasi?: WasiGrants | undefined;
  /** File with the files that the module sees (wasm/guest/files/tree.ts); undefined: it sees none. */
  readonly files?: string | undefined;
  /** Bounds of the module's own thread; undefined: the module runs on the thread of all rules. */
  readonly isolate?: Isolation | undefined;
}

/** A module that is a program: sources and sinks run it, each run in a thread of its own. */
export interface CommandCode {
  readonly kind: 'command';
  readonly name: string;
  /** See `ScriptCode`. */
  readonly version: number;
  /** See `WasmCode`. */
  readonly path: string;
  readonly wasi?: WasiGrants | undefined;
  /** See `WasmCode`. */
  readonly files?: string | undefined;
  /** Longest time without a call of the system, ms. */
  readonly timeoutMs: number;
}

/** A module on a thread of its own. */
export interface Isolation {
  /** Longest time of the calls for a batch before the thread is ended, ms. */
  readonly timeoutMs: number;
}

/** A format whose messages the engine's own code turns into JSON. */
export interface FormatCode {
  readonly kind: 'format';
  readonly name: string;
  /** See `ScriptCode`; it tells the settings apart. */
  readonly version: number;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Functions of the engine that need a package and answer later. */
export interface LibraryCode {
  readonly kind: 'library';
  readonly name: 'images' | 'models';
  readonly version: number;
  /** Folder of the files that users have uploaded. */
  readonly folder: string;
}

/** Loaded code that is called for each row, and answers later. */
export interface RowCode {
  /** Most calls at once. */
  readonly atOnce: number;
  /** Calls a function; rejects with the reason when it fails. */
  call(entry: string, args: readonly Value[]): Promise<Value>;
  close(): void;
}

/** Code of users that answers at once. */
export type DirectCode = CommandCode | ScriptCode | WasmCode;

export type UserCode = DirectCode | FormatCode | LibraryCode | PortableCode | ServiceCode;

/** Tells that code answers later, so that rows wait in an operator of their own. */
export function isWaiting(code: UserCode): boolean {
  const { kind } = code;
  return (
    kind === 'service' || kind === 'library' || kind === 'portable' || (kind === 'wasm' && code.isolate !== undefined)
  );
}

/** A function of a user. */
export interface UserFunction {
  /** Name of the function in rules. */
  readonly name: string;
  /** Plugin, script or service of the function, for errors: `wasm plugin scale`. */
  readonly owner: string;
  /** Number by which the kernel calls the function. */
  readonly number: number;
  readonly code: UserCode;
  /** Name of the function in the code. */
  readonly entry: string;
  /** Whether each argument is a list of the values of a group. */
  readonly isAggregate: boolean;
  /** Kind of state that the engine keeps: `joined` states of groups can be merged, `folded` ones can't. */
  readonly state?: 'folded' | 'joined' | 'analytic' | undefined;
  /** Fewest and most arguments; null: any number. */
  readonly args: { readonly min: number; readonly max: number | null };
}

/** Fewest and most arguments of a function of a plugin. */
export function argumentCounts({ args }: PluginFunction): UserFunction['args'] {
  const needed = args.findIndex(({ optional }) => optional);
  return { min: needed < 0 ? args.length : needed, max: args.at(-1)?.variadic ? null : args.length };
}

/** How the engine calls a function of a plugin; on a thread of its own aggregates get rows, since states would wait. */
export function callOf(
  fn: PluginFunction | undefined,
  isIsolated = false,
): Pick<UserFunction, 'isAggregate' | 'state'> {
  if (fn?.analytic !== undefined) return { isAggregate: false, state: 'analytic' };
  const { aggregate } = fn ?? {};
  if (aggregate?.save === undefined || isIsolated) return { isAggregate: aggregate !== undefined };
  return { isAggregate: true, state: aggregate.merge === undefined ? 'folded' : 'joined' };
}

/** Function that a user has installed under a name; without `run` it can't be run yet. */
export interface Brought {
  /** Plugin, script or service that has the function: `service shop`. */
  readonly owner: string;
  readonly run?: UserFunction | undefined;
}

/** Functions that read and write messages; undefined where the codec can't. */
export interface Codec {
  /** Its name in errors: `codec frame of wasm plugin frames`. */
  readonly title: string;
  readonly decode?: UserFunction | undefined;
  readonly encode?: UserFunction | undefined;
}

/** Finds a codec by SCHEMAID of a stream or `schemaId` of an action; throws a HaumeaError when there is none. */
export type FindCodec = (schemaId: string) => Codec;

/** Finds the program that a plugin is, as a function without arguments; undefined when there is none. */
export type FindProgram = (plugin: string) => UserFunction | undefined;

/** Finds what users have installed, by its name in any letter case. */
export interface FindBrought {
  (name: string): Brought | undefined;
  /** All names, for suggestions. */
  readonly names?: () => readonly string[];
}

/** Free memory for code of users. */
export interface MemoryRoom {
  /** Free bytes. */
  readonly free: number;
  /** Text of the error when the room is not enough. */
  readonly reason: string;
}

/** Accounts for the memory of one piece of code. */
export interface CodeMemory {
  /** Sets the bytes of the code, 0 when it is closed; returns a reason when it may not have more than before. */
  holds(bytes: number): string | undefined;
  room(): MemoryRoom;
}

/** Functions of the host that loaded code calls. */
export interface CodeHost {
  /** Account of the code's memory; undefined: memory is not bounded. */
  readonly memory?: CodeMemory;
  /** Writes a line to the log. */
  log(line: string): void;
  /** Notes that a call was ended by time, memory or a trap; `tookMs`: time for which no other rule waited. */
  fault(reason: string, tookMs?: number): void;
}

/** Has a codec make something of messages, on another thread. */
export type MakeMessages = (
  messages: readonly Uint8Array[],
  kind: 'text' | 'bytes',
  signal: AbortSignal,
) => Promise<readonly Made[]>;

/** Code that a data plane has loaded. */
export interface LoadedCode {
  /** Runs one of its functions over the rows of a batch; each row gets a result or an error. */
  call(entry: string, columns: HostColumns): void;
  /** Of a decoder: what has to be loaded before it can read a message; undefined: nothing. */
  readonly needs?: ((message: Uint8Array) => (() => Promise<void>) | undefined) | undefined;
  /** Of a decoder: JSON text of one message as UTF-8, good until the next call. */
  decode?(message: Uint8Array): Uint8Array;
  /**
   * Of a module on a thread of its own: has a codec make something of messages, which are copied. Each gets a result or
   * an error; nobody waits for it once the signal is given.
   */
  make?(entry: string, ...given: Parameters<MakeMessages>): ReturnType<MakeMessages>;
  /** Of a program, which has no functions. */
  readonly program?: PipedProgram;
  close(): void;
}

/** Answers to some calls: a value for each, or why there is none. */
export interface Answers {
  readonly values: readonly Value[];
  readonly failed: ReadonlyMap<number, string>;
}

/** Loaded code that answers later. */
export interface AskedCode {
  /** Calls a function for each list of arguments, which are values of JSON; several calls may be under way. */
  ask(entry: string, calls: readonly (readonly unknown[])[], signal: AbortSignal): Promise<Answers>;
  /** Sentence for people while the other side is down; empty otherwise. */
  readonly trouble: string;
  /** Calls that have no end yet. */
  readonly open: OpenCalls;
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>;
}
