/** The result of a change that REST answers with. */

export class Outcome {
  constructor(
    readonly text: string,
    /** Sentences that the answer shows. */
    readonly warnings: readonly string[] = [],
    /** Sentences for the header alone: existing clients compare the text. */
    readonly notes: readonly string[] = [],
  ) {}
}
