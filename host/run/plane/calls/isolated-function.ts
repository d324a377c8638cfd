/**
 * Functions of modules on threads of their own: one thread for a module, shared by all rules that call one of its
 * functions.
 */
import type { LookupAnswer } from '../../../../kernels/api.js';
import { CarriedColumn, type CarriedColumns } from '../../../../kernels/values/carried.js';
import { ValueError } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import type { UserFunction, WasmCode } from '../../../plugins/define.js';
import { IsolatedModule } from '../../../plugins/wasm/isolate/thread.js';
import type { CodeWatch } from './code-watch.js';

/** The part of a data plane that modules use. */
export interface IsolatedHost {
  shared<T>(key: string, make: () => T): T;
  readonly codeWatch: Pick<CodeWatch, 'hostOf'>;
}

interface Shared {
  readonly key: string;
  readonly module: IsolatedModule;
  users: number;
}

/** Default timeout, for a rule that was planned for a module with a thread, while the module has none now. */
const usualTimeoutMs = 10_000;

/** Key of what all parts of a data plane share. */
const key = 'calls.isolated';

/** The modules of a data plane that have threads: its functions and its codecs share the thread of one. */
export class IsolatedModules {
  readonly #shared = new Map<string, Shared>();

  private constructor(private readonly watch: IsolatedHost['codeWatch']) {}

  static of(host: IsolatedHost): IsolatedModules {
    return host.shared(key, () => new IsolatedModules(host.codeWatch));
  }

  use(owner: string, code: WasmCode): Shared {
    const key = `${code.name} ${code.version}`;
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const timeoutMs = code.isolate?.timeoutMs ?? usualTimeoutMs;
      shared = { key, module: new IsolatedModule(code, this.watch.hostOf(owner), timeoutMs), users: 0 };
      this.#shared.set(key, shared);
    }
    shared.users++;
    return shared;
  }

  leave(shared: Shared): void {
    if (--shared.users > 0) return;
    this.#shared.delete(shared.key);
    shared.module.close();
  }
}

interface Current {
  readonly version: number;
  readonly entry: string;
  readonly shared: Shared;
}

/** One function, for all nodes that ask it. */
export class IsolatedFunction {
  readonly owner: string;
  readonly #name: string;
  readonly #number: number;
  readonly #hasStates: boolean;
  /** Null when its code was taken away. */
  #current: Current | null;

  constructor(
    fn: UserFunction,
    private readonly modules: IsolatedModules,
  ) {
    this.owner = fn.owner;
    this.#name = fn.name;
    this.#number = fn.number;
    this.#hasStates = fn.state === 'analytic';
    this.#current = this.#open(fn);
  }

  /** Resolves when its module is loaded; rejects with the reason when it does not load. */
  async ready(): Promise<void> {
    await this.#current?.shared.module.loaded;
  }

  /**
   * Calls it for all rows; what fails is an error in the place of its result. States come and go behind the rows: with
   * an error in its place a state stays as it was.
   */
  async ask(args: CarriedColumns, field: string, signal: AbortSignal): Promise<LookupAnswer> {
    const of = Array.from({ length: args.count }, (_, i) => i);
    const failed = (text: string): LookupAnswer => {
      const failure = new ValueError(text);
      return { of, columns: { [field]: of.map(() => failure) } };
    };
    if (this.#current === null) return failed(`function ${this.#name}: ${this.owner} is not there any more`);
    const { entry, shared } = this.#current;
    try {
      const results = await shared.module.ask(entry, args, signal, this.#hasStates);
      return { of, columns: { [field]: new CarriedColumn(results, 0) } };
    } catch (error) {
      return failed(`function ${entry} of ${shared.module.name}: ${reasonOf(error)}`);
    }
  }

  /** From now on new code is asked; the former still answers what it was asked. */
  replace(functions: readonly UserFunction[] | null): void {
    const better = functions?.find(({ number }) => number === this.#number);
    if (better !== undefined && better.code.version === this.#current?.version) return;
    const last = this.#current;
    this.#current = better === undefined ? null : this.#open(better);
    if (last !== null) this.modules.leave(last.shared);
  }

  close(): void {
    if (this.#current !== null) this.modules.leave(this.#current.shared);
    this.#current = null;
  }

  #open({ name, owner, entry, code }: UserFunction): Current {
    if (code.kind !== 'wasm') throw new Error(`function ${name} is of no module`);
    return { version: code.version, entry, shared: this.modules.use(owner, code) };
  }
}
