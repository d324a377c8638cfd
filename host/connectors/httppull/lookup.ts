/** Looks in the answer of a server, which is asked once for all keys of a batch. */
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import { rowsIn } from '../../http/rows.js';
import { answerFrom } from '../rows-by-key.js';
import type { Lookup, LookupContext, LookupRequest } from '../running.js';
import { type PullConf, Puller } from './puller.js';

export class PullLookup implements Lookup {
  readonly #puller: Puller;

  constructor(conf: PullConf, context: LookupContext) {
    this.#puller = new Puller(conf, context.dataSource, context);
  }

  async ask(request: LookupRequest, signal: AbortSignal): Promise<LookupAnswer> {
    const { body } = await this.#puller.pull({}, {}, signal);
    return answerFrom(rowsIn(body) as readonly Readonly<Record<string, Value>>[], request);
  }

  async close(): Promise<void> {
    this.#puller.close();
  }
}
