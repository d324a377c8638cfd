/** The form of a pass: a step that makes the module of a user ready to run (list.ts has them in order). */
import type { ModuleLimits } from '../binary/limits.js';
import type { ValueType } from '../binary/types.js';

/** A module between two passes, with what the passes before have found in it. */
export interface PassModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bounds of an upload. */
  readonly limits: ModuleLimits;
  /** Exports over plain numbers, called once for each row of a batch. */
  readonly rowFunctions: readonly string[];
  /** Name of the exported memory; undefined for a module without memory. */
  readonly memory: string | undefined;
  /** Exports that charge no fuel. */
  readonly uncharged: ReadonlySet<string>;
  /** Code of exports that is copied into their callers. */
  readonly inlined: ReadonlyMap<string, InlineFunction>;
  /** Callers have a loop for batches without gaps. */
  readonly hasDenseLoop: boolean;
  /** Names of exports that take eight rows, by the names of those that take one. */
  readonly unrolled: ReadonlyMap<string, string>;
}

/** A function over numbers that neither loops nor touches anything outside of itself. */
export interface InlineFunction {
  /** Types of the function's variables beside the parameters. */
  readonly locals: readonly ValueType[];
  /** Instructions, the end included. */
  readonly code: Uint8Array;
  readonly canTrap: boolean;
}

/** When a pass runs: once when a module is installed, or in each data plane that loads it. */
export type Stage = 'install' | 'load';

export interface Pass {
  readonly name: string;
  /** One clause for readers of the list. */
  readonly does: string;
  readonly stage: Stage;
  /** Names of passes that have to run before. */
  readonly needs: readonly string[];
  /** Measured gain (bench/micro/scalar-plugin.ts) of a pass that only speeds up; absent: modules need it. */
  readonly optional?: string;
  run(module: PassModule): PassModule;
}
