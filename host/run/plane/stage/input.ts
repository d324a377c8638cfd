/** Input of a source on its way to the kernel. */
export interface Input {
  readonly bytes: Uint8Array;
  /** The bytes end one read. */
  readonly isLast: boolean;
  /** The input had its turn, and is worked on as a whole now. */
  readonly hasTurn?: boolean;
  /** One message that the kernel has no room for may be skipped. */
  readonly maySkip?: boolean;
}
