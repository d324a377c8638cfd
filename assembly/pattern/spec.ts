// The description of a pattern node as the host writes it (kernels/nodes/pattern.ts).
import {
  PATTERN_LOOK_SIZE_OF,
  PATTERN_PROGRAM_SIZE_OF,
  PATTERN_STEP_SIZE_OF,
  PATTERN_VARIABLE_SIZE_OF,
  PATTERN_AGGREGATE_SIZE_OF,
  PatternAggregate,
  PatternLook,
  PatternProgram,
  PatternSpec,
  PatternStep,
  PatternVariable,
} from '../gen/pattern-layouts';
import { Node } from '../gen/node-layouts';
import { programFree, programNew } from '../ops/vm';
import { Program } from '../gen/ops-layouts';
import { specPrepare } from '../agg/group/spec';
import { WindowSpec } from '../gen/window-layouts';

/** The programs before those of the conditions on the match. */
export namespace Part {
  /** Conditions on rows alone, or those before them. */
  export const ROWS: u32 = 0;
  /** Conditions on rows and those behind them. */
  export const AHEAD: u32 = 1;
  export const MEASURES: u32 = 2;
  export const FIRST_CONDITION: u32 = 3;
}

// @ts-ignore: decorator
@inline export function specOf(node: Node): PatternSpec {
  return changetype<PatternSpec>(node.spec);
}

// @ts-ignore: decorator
@inline export function stepAt(spec: PatternSpec, i: u32): PatternStep {
  return changetype<PatternStep>(changetype<usize>(spec) + spec.stepsAt + <usize>(i * PATTERN_STEP_SIZE_OF));
}

// @ts-ignore: decorator
@inline export function variableAt(spec: PatternSpec, i: u32): PatternVariable {
  return changetype<PatternVariable>(
    changetype<usize>(spec) + spec.variablesAt + <usize>(i * PATTERN_VARIABLE_SIZE_OF),
  );
}

// @ts-ignore: decorator
@inline export function lookAt(spec: PatternSpec, i: u32): PatternLook {
  return changetype<PatternLook>(changetype<usize>(spec) + spec.looksAt + <usize>(i * PATTERN_LOOK_SIZE_OF));
}

// @ts-ignore: decorator
@inline export function programAt(spec: PatternSpec, i: u32): PatternProgram {
  return changetype<PatternProgram>(changetype<usize>(spec) + spec.programsAt + <usize>(i * PATTERN_PROGRAM_SIZE_OF));
}

// @ts-ignore: decorator
@inline export function aggregateAt(spec: PatternSpec, i: u32): PatternAggregate {
  return changetype<PatternAggregate>(
    changetype<usize>(spec) + spec.aggregatesAt + <usize>(i * PATTERN_AGGREGATE_SIZE_OF),
  );
}

/** The window of one group that describes an aggregate. */
// @ts-ignore: decorator
@inline export function windowOf(spec: PatternSpec, one: PatternAggregate): WindowSpec {
  return changetype<WindowSpec>(changetype<usize>(spec) + one.specAt);
}

/** The u16 of number `i` in a list of the spec. */
// @ts-ignore: decorator
@inline export function numberAt(spec: PatternSpec, list: u32, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + list + ((<usize>i) << 1));
}

/** Makes the programs and lays out the states of aggregates; false when memory is exhausted. */
export function specOpen(spec: PatternSpec, acct: usize): bool {
  const programs = spec.programs;
  for (let i: u32 = 0; i < programs; i++) {
    const one = programAt(spec, i);
    one.made = changetype<Program>(0);
    if (!one.codeLen) continue;
    one.made = programNew(changetype<usize>(spec) + one.code, one.codeLen, acct);
    if (!one.made) return false;
  }
  const aggregates = spec.aggregates;
  for (let i: u32 = 0; i < aggregates; i++) {
    specPrepare(windowOf(spec, aggregateAt(spec, i)));
  }
  return true;
}

export function specClose(spec: PatternSpec): void {
  const programs = spec.programs;
  for (let i: u32 = 0; i < programs; i++) {
    const one = programAt(spec, i);
    if (one.made) programFree(one.made);
    one.made = changetype<Program>(0);
  }
}
