/**
 * State that a rule keeps from one run to the next. State is identified by its meaning, so that an update finds it
 * again as long as the meaning stays the same.
 */

/** Member of an operator's state: a column of its rows, a value of its groups, an aggregate or a function. */
export interface KeptMember {
  /** 64 bits as 16 hexadecimal digits: equal for members that mean the same. */
  readonly key: string;
  /** Text of the member as the statement has it. */
  readonly text: string;
}

/** Members of an operator in its own order. */
export interface KeptList {
  /**
   * Kind of the members: values of rows, groups or keys; aggregates of groups; functions that look back. `none`: the
   * operator makes the list anew from the other lists.
   */
  readonly of: 'values' | 'aggregates' | 'functions' | 'none';
  readonly members: readonly KeptMember[];
}

export interface KeptOperator {
  /**
   * Key of the operator, in the form of a member's `key`. It is equal for operators that see the same rows and do the
   * same with them, whatever their members are.
   */
  readonly identity: string;
  /** Name of the operator for the user: a window, a join, rows that wait. */
  readonly what: string;
  /** Name of the part that has the values and aggregates: `the groups of TUMBLINGWINDOW(ss, 10)`. */
  readonly holder: string;
  /** Parts of the statement that the operator's rows have passed, from the stream on. */
  readonly rows: readonly string[];
  readonly lists: readonly KeptList[];
  /** Loss of the state is not reported: it lasts for one message only, or is just an internal count. */
  readonly isSilent?: true;
  /** The state is gathered output, which is sent at the end of a run without checkpoints. */
  readonly isOutput?: true;
}

/** Kept operators by the number of their node in the plan. */
export type KeptByNode = ReadonlyMap<number, KeptOperator>;

/** State that a new definition of a rule takes over from the old one, or loses. */
export interface KeptChanges {
  /** State that the new definition takes over. */
  readonly kept: readonly string[];
  /** State that is lost, with the reason. */
  readonly lost: readonly string[];
  /** State that begins empty although other state is taken over. */
  readonly empty: readonly string[];
}

/** Whether a rule has state that goes along to another data plane: output of single messages is sent before. */
export function hasMovingState(kept: KeptByNode, nodes: readonly { readonly kind: string }[]): boolean {
  return [...kept].some(([node, { isSilent }]) => nodes[node]?.kind !== 'encode' || isSilent !== true);
}
