/** What comes of a change, for whoever asked for it. */

export class Told {
  constructor(
    readonly text: string,
    /** What they should know besides, a sentence each. */
    readonly warnings: readonly string[] = [],
    /** The same of what existing clients write and expect to be answered with the usual text alone. */
    readonly notes: readonly string[] = [],
  ) {}
}
