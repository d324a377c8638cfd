/**
 * Grammar of a window's clause. Each kind has one in its record (host/plan/windows), from which the parser's table is
 * generated.
 */

export interface WindowArgument {
  readonly name: string;
  readonly isOptional?: true;
  readonly mayBeZero?: true;
  /** Begin of the error for an argument above the first one, whose value follows; absent: not checked. */
  readonly withinFirst?: string;
  /** Begin of the error for an argument with which a row is in too many windows; the least value follows. */
  readonly dividesFirst?: string;
}

export interface WindowGrammar {
  /** A time unit comes first, of which the arguments are lengths. */
  readonly hasUnit?: true;
  /** Arguments of the window, which are whole numbers. */
  readonly args: readonly WindowArgument[];
  /** Conditions in the place of arguments: the first, and a second that may be left out. */
  readonly hasConditions?: true;
}
