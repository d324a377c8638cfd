/** A program with an input and an output of bytes, as plugins bring it and connectors run it. */

export interface PipedProgram {
  /** Name for reasons: `wasm plugin thermometer`. */
  readonly title: string;
  /** Starts the program once more, beside those that run; rejects with the reason when it does not start. */
  start(options: ProgramOptions): Promise<RunningProgram>;
}

export interface ProgramOptions {
  /** Arguments behind those of the plugin. */
  readonly args: readonly string[];
  /** Its output is read; otherwise lines of it go to the log. */
  readonly hasOutput: boolean;
  /** Called when the program has dealt with more of its input, or has ended. */
  progressed?(): void;
}

/** How a program has ended. */
export interface ProgramEnd {
  readonly reason: string;
  /** It has ended itself, with exit code 0. */
  readonly isOrderly: boolean;
}

export interface RunningProgram {
  /** Bytes of its output that are there, a copy; empty where there are none. */
  read(): Uint8Array;
  /** Resolves with true as soon as output is there, with false when there is none any more. */
  whenOutput(): Promise<boolean>;
  /** Gives it input; returns how many bytes there was room for. */
  write(bytes: Uint8Array): number;
  /** Bytes of its input that it has read and dealt with: it has asked for more since. */
  readonly handled: number;
  /** No more input follows: the program is expected to end. */
  endInput(): void;
  /** How it has ended; undefined while it runs. */
  readonly end: ProgramEnd | undefined;
  /** Ends it. */
  stop(): void;
}
