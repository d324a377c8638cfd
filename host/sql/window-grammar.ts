/** How a window is written; each kind has one in its record (host/plan/windows), which the parser gets generated. */

export interface WindowArgument {
  readonly name: string;
  readonly isOptional?: true;
  readonly mayBeZero?: true;
  /** It must not be larger than the first argument: what is expected then, to which that is added. */
  readonly withinFirst?: string;
  /** It must not be that much smaller than the first argument: what is expected, to which the least is added. */
  readonly dividesFirst?: string;
}

export interface WindowGrammar {
  /** A time unit comes first, of which the arguments are lengths. */
  readonly hasUnit?: true;
  /** Whole numbers. */
  readonly args: readonly WindowArgument[];
  /** Conditions in the place of arguments: the first, and a second that may be left out. */
  readonly hasConditions?: true;
}
