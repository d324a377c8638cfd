/**
 * What a rule keeps from one run to the next. It is identified by its meaning, so that an update finds it again as long
 * as the meaning stays the same.
 */

/** Something that an operator keeps: a column of its rows, a value of its groups, an aggregate, a function. */
export interface KeptMember {
  /** 64 bits as 16 hexadecimal digits: equal for members that mean the same. */
  readonly key: string;
  /** As the statement has it. */
  readonly text: string;
}

/** Members of an operator in its own order. */
export interface KeptList {
  /**
   * Values of rows, groups or keys; aggregates of groups; functions that look back. None: what is made anew of the
   * others.
   */
  readonly of: 'values' | 'aggregates' | 'functions' | 'none';
  readonly members: readonly KeptMember[];
}

export interface KeptOperator {
  /**
   * As `key` of a member: of operators that see the same rows and do the same with them, whatever their members are.
   */
  readonly identity: string;
  /** As the user knows it: a window, a join, what waits. */
  readonly what: string;
  /** What has the values and aggregates: `the groups of TUMBLINGWINDOW(ss, 10)`. */
  readonly holder: string;
  /** Where its rows come from, from the stream on: parts of the statement. */
  readonly rows: readonly string[];
  readonly lists: readonly KeptList[];
  /** Nobody would miss it: what it keeps is gone with each message, or nothing but a count of its own. */
  readonly isSilent?: true;
  /** It is output already: without checkpoints it is sent at the end of a run. */
  readonly isOutput?: true;
}

/** By the node of the plan that it is of. */
export type KeptByNode = ReadonlyMap<number, KeptOperator>;

/** What of a rule's state goes over to another definition of it. */
export interface KeptChanges {
  /** What goes on. */
  readonly kept: readonly string[];
  /** What is gone, with the reason. */
  readonly lost: readonly string[];
  /** What begins empty although other things go on. */
  readonly empty: readonly string[];
}
