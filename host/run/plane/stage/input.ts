/** Input of a source on its way to the kernel. */
export interface Input {
  readonly bytes: Uint8Array;
  /** It is the end of what was read in one go. */
  readonly isLast: boolean;
  /** It had its turn: all of it is worked on now. */
  readonly hasTurn?: boolean;
  /** One message may be left out that the kernel has no room for. */
  readonly maySkip?: boolean;
}
