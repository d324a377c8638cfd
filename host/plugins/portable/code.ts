/** Portable plugins as a data plane runs them: plain data that can be sent between threads. */

/** A program with functions, sources and sinks. */
export interface PortableCode {
  readonly kind: 'portable';
  /** Name of the plugin. */
  readonly name: string;
  /** Number that is never used twice: it tells the program from earlier ones of the same name. */
  readonly version: number;
  readonly language: 'go' | 'python';
  /** Absolute path of the program. */
  readonly executable: string;
  /** Folder that the program works in. */
  readonly folder: string;
  /** Environment of conda that the program runs in; empty for none. */
  readonly condaEnv: string;
  readonly sources: readonly string[];
  readonly sinks: readonly string[];
  readonly functions: readonly string[];
  readonly limits: PortableLimits;
}

export interface PortableLimits {
  /** Program that runs Python. */
  readonly pythonBin: string;
  /** Longest start, up to the hello of the plugin, ms. */
  readonly initMs: number;
  /** Longest sending of one message to a sink of the plugin, ms. */
  readonly sendMs: number;
  /** Longest answer to one call, ms. */
  readonly recvMs: number;
  /** Most memory of the process. */
  readonly memoryBytes: number;
  /** How often a call is repeated whose plugin has died. */
  readonly callRetries: number;
  /** Calls of a function that are under way at once. */
  readonly callsAtOnce: number;
}

/** Noun for a plugin in errors and logs, followed by its name. */
export const portableNoun = 'portable plugin';

/** The state of a plugin with the rules that use it. */
export interface PortableUse extends PortableState {
  readonly name: string;
  /** Number of its functions, sources and sinks in each rule. */
  readonly refCount: Readonly<Record<string, number>>;
}

/** State of the process of a plugin. */
export interface PortableState {
  readonly status: 'initializing' | 'running' | 'stop' | 'error';
  /** Why it does not run, or has ended before. */
  readonly errMsg: string;
  /** Starts after the first one. */
  readonly restarts: number;
  readonly pid?: number;
}
