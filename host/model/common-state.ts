/** Common checkpoints of the rules that a divided rule consists of: they count together or not at all. */

/** State of a divided rule: each of the rules that it consists of has a part of it. */
export interface CommonState {
  /** How the rule is divided: state that was divided otherwise is of no use. */
  readonly by: string;
  /** Number of these rules. */
  readonly members: number;
  /** Topics on which the rule gets markers, in its data plane; none for those that begin a checkpoint. */
  readonly reads: readonly string[];
  /** Topics on which it passes them on. */
  readonly writes: readonly string[];
  /** What the next start goes on from. */
  readonly from: CommonStart;
}

export interface CommonStart {
  /** Number of the checkpoint, which all have; 0 for none. */
  number: number;
  /** Reasons why newer ones can't be used, a sentence each. */
  refusals: readonly string[];
}

/** Steps of a common checkpoint: rules are cut, and all parts count, or come to nothing. */
export type CommonStep = 'cut' | 'keep' | 'drop';

/** What a rule tells of a common checkpoint. */
export type CommonNews =
  /** Its part is on disk, and all earlier output is with the outside. */
  | { readonly what: 'there'; readonly number: number }
  | { readonly what: 'failed'; readonly number: number; readonly reason: string }
  /** The order to keep or drop its part is carried out. */
  | { readonly what: 'settled'; readonly number: number }
  /** A sender waits for a checkpoint. */
  | { readonly what: 'wanted' }
  /** All of its input was read: it waits for the last checkpoint. */
  | { readonly what: 'finished' };

/** Checkpoints that several rules have, as they were found. */
export interface KeptNumbers {
  /** The newest that all have whole; 0 without any. */
  readonly newest: number;
  /** The highest number that any has. */
  readonly last: number;
  /** Reasons why newer ones can't be used, a sentence each. */
  readonly refusals: readonly string[];
}

/** Common checkpoints of rules, for who divides them. */
export interface CommonCheckpoints {
  /** Looks for the checkpoints that rules have in common; undefined when nobody answers. */
  kept(ids: readonly string[], by: string): Promise<KeptNumbers | undefined>;
  /** Whether the state of a rule outlives its run. */
  isKept(id: string): boolean;
  /** Gives an order to rules that run. */
  order(ids: readonly string[], step: CommonStep, number: number, isLast: boolean): void;
  /** Whether a rule failed by no fault of its own: its data plane is gone, or it is to run in another one. */
  isSetBack(id: string): boolean;
  /** Hears of the news of all rules. */
  onNews: ((id: string, news: CommonNews) => void) | undefined;
}
