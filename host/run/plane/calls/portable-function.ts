/** A function of a portable plugin: it is called for each row, in the order of the rows. */
import type { LookupAnswer } from '../../../../kernels/api.js';
import { type CarriedColumns, carriedValues } from '../../../../kernels/values/carried.js';
import { type Value, ValueError } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import type { UserFunction } from '../../../plugins/define.js';
import type { FunctionChannel } from '../../../plugins/portable/functions.js';
import type { PortablePlugins } from '../../../plugins/portable/plugins.js';

/** The call of a rule that asks. */
export interface Asker {
  readonly rule: string;
  readonly node: number;
}

/** Calls of a batch that the channel has at once; those behind them can still be left out. */
const ahead = 64;

export class PortableFunction {
  readonly owner: string;
  readonly #name: string;
  readonly #number: number;
  /** Null when the plugin was taken away. */
  #channel: FunctionChannel | null;

  constructor(
    fn: UserFunction,
    private readonly plugins: PortablePlugins,
  ) {
    this.owner = fn.owner;
    this.#name = fn.name;
    this.#number = fn.number;
    this.#channel = this.#open(fn);
  }

  /** Resolves when the plugin runs it; rejects with the reason when it does not start. */
  async ready(): Promise<void> {
    await this.#channel?.ready();
  }

  /** Calls it for all rows; what fails is an error in the place of its result. */
  async ask(args: CarriedColumns, field: string, signal: AbortSignal, asker: Asker): Promise<LookupAnswer> {
    const [texts = []] = carriedValues(args);
    const results = new Array<Value>(args.count).fill(null);
    const context = contextOf(asker);
    let next = 0;
    const work = async () => {
      for (let row = next++; row < args.count && !signal.aborted; row = next++) {
        const at = row;
        results[at] = await this.#call(texts[at], context);
      }
    };
    await Promise.all(Array.from({ length: Math.min(ahead, args.count) }, work));
    return { of: results.map((_, i) => i), columns: { [field]: results } };
  }

  /** From now on the new program is called. */
  replace(functions: readonly UserFunction[] | null): void {
    const better = functions?.find(({ number }) => number === this.#number);
    this.#channel?.leave();
    this.#channel = better === undefined ? null : this.#open(better);
  }

  close(): void {
    this.#channel?.leave();
    this.#channel = null;
  }

  #open({ name, entry, code }: UserFunction): FunctionChannel {
    if (code.kind !== 'portable') throw new Error(`function ${name} is of no portable plugin`);
    const channel = this.plugins.of(code).function(entry);
    channel.use();
    return channel;
  }

  async #call(text: Value, context: string): Promise<Value> {
    if (text instanceof ValueError) return text;
    try {
      if (this.#channel === null) throw new Error(`${this.owner} is not there any more`);
      const list = String(text);
      const args = list === '[]' ? `[${context}]` : `${list.slice(0, -1)},${context}]`;
      return valueOfAnswer(await this.#channel.call('Exec', args));
    } catch (error) {
      return new ValueError(`function ${this.#name}: ${reasonOf(error)}`);
    }
  }
}

/** Whole numbers are integers, as in all that comes as JSON. */
function valueOfAnswer(json: unknown): Value {
  if (typeof json === 'number') return Number.isSafeInteger(json) && !Object.is(json, -0) ? BigInt(json) : json;
  if (Array.isArray(json)) return json.map(valueOfAnswer);
  if (typeof json !== 'object' || json === null) return json as Value;
  return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, valueOfAnswer(item)]));
}

/** The last argument of each call: a text that tells plugins with a state which call of which rule it is. */
function contextOf({ rule, node }: Asker): string {
  return JSON.stringify(JSON.stringify({ ruleId: rule, opId: 'function', instanceId: 0, funcId: node }));
}
