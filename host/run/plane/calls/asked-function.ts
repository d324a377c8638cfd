/** A function of a service, as a table that is asked: its arguments are the key, its result the only column. */
import type { LookupAnswer } from '../../../../kernels/api.js';
import type { Lookup, LookupRequest } from '../../../connectors/running.js';
import type { AskedCode, UserFunction } from '../../../plugins/define.js';
import { loadService } from '../../../plugins/index.js';

interface Current {
  readonly version: number;
  readonly entry: string;
  readonly code: Promise<AskedCode>;
}

export class AskedFunction implements Lookup {
  readonly owner: string;
  readonly #name: string;
  readonly #number: number;
  /** Null when its code was taken away. */
  #current: Current | null;

  constructor(fn: UserFunction) {
    this.owner = fn.owner;
    this.#name = fn.name;
    this.#number = fn.number;
    this.#current = opened(fn);
  }

  async ask({ keys, count, fields }: LookupRequest, signal: AbortSignal): Promise<LookupAnswer> {
    const current = this.#current;
    if (current === null) throw new Error(`function ${this.#name}: ${this.owner} is not there any more`);
    const code = await current.code;
    const calls = Array.from({ length: count }, (_, i) => argumentsOf(keys[0]?.[i]));
    const { values, failed } = await code.ask(current.entry, calls, signal);
    const of = Array.from({ length: count }, (_, i) => i).filter((i) => !failed.has(i));
    const [column = ''] = fields ?? [];
    return { of, columns: { [column]: of.map((i) => values[i] ?? null) }, failed };
  }

  /** Resolves at once: whether a service is there, its answers tell. */
  async ready(): Promise<void> {}

  /** From now on new code is asked; who was asked before may still answer. */
  replace(functions: readonly UserFunction[] | null): void {
    const better = functions?.find(({ number }) => number === this.#number);
    if (better !== undefined && better.code.version === this.#current?.version) return;
    const last = this.#current;
    this.#current = better === undefined ? null : opened(better);
    void last?.code.then((code) => code.close());
  }

  async close(): Promise<void> {
    await (await this.#current?.code)?.close();
  }
}

function opened({ name, entry, code }: UserFunction): Current {
  if (code.kind !== 'service') throw new Error(`function ${name} is of no service`);
  return { version: code.version, entry, code: loadService(code) };
}

/** The arguments of a call, as the plan packs them (host/plan/logical/call.ts): `{"n":2,"0":"tea","1":null}`. */
function argumentsOf(text: unknown): unknown[] {
  const { n, ...args } = JSON.parse(String(text)) as Record<string, unknown> & { n: number };
  return Array.from({ length: n }, (_, i) => args[i] ?? null);
}
