/** Looks in rows of its configuration. */
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import { answerFrom } from '../rows-by-key.js';
import type { Lookup, LookupRequest } from '../running.js';

export class SimulatorLookup implements Lookup {
  readonly #rows: readonly Readonly<Record<string, Value>>[];

  constructor(data: readonly Record<string, unknown>[]) {
    this.#rows = data as readonly Readonly<Record<string, Value>>[];
  }

  async ask(request: LookupRequest): Promise<LookupAnswer> {
    return answerFrom(this.#rows, request);
  }

  async close(): Promise<void> {}
}
