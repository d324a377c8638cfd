/** A function of a service, as a table that is asked: its arguments are the key, its result the only column. */
import type { LookupAnswer } from '../../../../kernels/api.js';
import { readExactJson } from '../../../base/text/exact-json.js';
import type { Lookup, LookupRequest } from '../../../connectors/running.js';
import type { AskedCode, UserFunction } from '../../../plugins/define.js';
import { loadService } from '../../../plugins/index.js';
import type { ServiceCode } from '../../../plugins/service-code.js';
import { joinedOpen, type OpenCalls, ServiceCounts, type ServiceFigures } from '../../../plugins/service-figures.js';

/** An interface of a service in use. */
interface Shared {
  readonly key: string;
  /** Service and interface. */
  readonly name: string;
  readonly code: Promise<AskedCode>;
  /** Sentence for people while the service is down; empty otherwise. */
  trouble(): string;
  open(): OpenCalls[];
  users: number;
}

/** The interfaces of services of a data plane: all functions of one share its connections and its bounds. */
export class SharedServices {
  readonly #shared = new Map<string, Shared>();
  /** By service and interface; they go on when its code is replaced. */
  readonly #counts = new Map<string, ServiceCounts>();

  /** @param log takes what is told of a service that is down, and back again */
  constructor(private readonly log: (line: string) => void) {}

  use(code: ServiceCode): Shared {
    const key = `${code.name} ${code.version}`;
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      let opened: AskedCode | undefined;
      const opening = loadService(code, this.#countsOf(code.name), this.log).then((one) => {
        opened = one;
        return one;
      });
      // Who asks is told the reason.
      opening.catch(() => {});
      const open = () => (opened === undefined ? [] : [opened.open]);
      shared = { key, name: code.name, code: opening, trouble: () => opened?.trouble ?? '', open, users: 0 };
      this.#shared.set(key, shared);
    }
    shared.users++;
    return shared;
  }

  /** Figures of the interfaces that were called since the start. */
  figures(): ServiceFigures[] {
    const all = [...this.#shared.values()];
    return [...this.#counts].map(([name, { calls, tries, errors, times, lastError, lastErrorAt }]) => {
      const open = joinedOpen(all.filter((one) => one.name === name).flatMap((one) => one.open()));
      return { name, calls, tries, errors, times, lastError, lastErrorAt, ...open };
    });
  }

  #countsOf(name: string): ServiceCounts {
    const counts = this.#counts.get(name) ?? new ServiceCounts();
    this.#counts.set(name, counts);
    return counts;
  }

  async leave(shared: Shared): Promise<void> {
    if (--shared.users > 0) return;
    this.#shared.delete(shared.key);
    const code = await shared.code.catch(() => undefined);
    await code?.close();
  }
}

interface Current {
  readonly version: number;
  readonly entry: string;
  readonly shared: Shared;
}

export class AskedFunction implements Lookup {
  readonly owner: string;
  readonly #name: string;
  readonly #number: number;
  /** Null when its code was taken away. */
  #current: Current | null;

  constructor(
    fn: UserFunction,
    private readonly services: SharedServices,
  ) {
    this.owner = fn.owner;
    this.#name = fn.name;
    this.#number = fn.number;
    this.#current = this.#opened(fn);
  }

  /** Sentence for people while the service is down; empty otherwise. */
  get trouble(): string {
    return this.#current?.shared.trouble() ?? '';
  }

  async ask({ keys, count, fields }: LookupRequest, signal: AbortSignal): Promise<LookupAnswer> {
    const current = this.#current;
    if (current === null) throw new Error(`function ${this.#name}: ${this.owner} is not there any more`);
    const code = await current.shared.code;
    const calls = argumentsOf(keys[0] ?? []);
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
    this.#current = better === undefined ? null : this.#opened(better);
    if (last !== null) void this.services.leave(last.shared);
  }

  async close(): Promise<void> {
    const last = this.#current;
    this.#current = null;
    if (last !== null) await this.services.leave(last.shared);
  }

  #opened({ name, entry, code }: UserFunction): Current {
    if (code.kind !== 'service') throw new Error(`function ${name} is of no service`);
    return { version: code.version, entry, shared: this.services.use(code) };
  }
}

/** Most characters of texts that are read as one. */
const maxJoined = 1 << 20;

/** The arguments of calls, as the plan packs them (host/plan/logical/call.ts): `{"n":2,"0":"tea","1":null}`. */
function argumentsOf(keys: readonly unknown[]): unknown[][] {
  const texts = keys.map(String);
  const size = texts.reduce((sum, { length }) => sum + length, 0);
  // One text is read sooner than many small ones.
  const packed = size < maxJoined ? readExactJson(`[${texts.join(',')}]`) : texts.map(readExactJson);
  return (packed as (Record<string, unknown> & { n: number })[]).map((args) =>
    Array.from({ length: args.n }, (_, i) => args[i] ?? null),
  );
}
