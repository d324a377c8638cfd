/**
 * The lookup tables that are asked: one for all nodes with equal properties, and what lies between a node of the kernel
 * and its table. Rows wait in the kernel; here are the questions under way.
 */
import type { LookupAnswer, NodeHandle } from '../../../../kernels/api.js';
import type { NodePlan } from '../../../../kernels/plan/ir.js';
import { CarriedColumn, type CarriedColumns } from '../../../../kernels/values/carried.js';
import type { Value } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import { type Redact, redactedLog, redactOf } from '../../../base/secrets/redact.js';
import type { AskedPart } from '../../../connectors/define.js';
import type { Lookup } from '../../../connectors/running.js';
import type { UserFunction } from '../../../plugins/define.js';
import type { ServiceFigures } from '../../../plugins/service-figures.js';
import type { LookupSpec } from '../../link/protocol.js';
import { isSameOtherwise } from '../../link/same-spec.js';
import type { PlaneHost } from '../running/running.js';
import type { AskedFunction, SharedServices } from './asked-function.js';
import type { CodeWatch } from './code-watch.js';
import type { IsolatedFunction } from './isolated-function.js';
import type { LibraryFunction } from './library-function.js';
import type { Asker, PortableFunction } from './portable-function.js';
import type { Portables } from './portables.js';
import { Waiting, type WaitingHost } from './waiting.js';

export interface AskedTablesHost extends Pick<PlaneHost, 'log' | 'paths' | 'shared'> {
  /** Takes what code of an owner tells. */
  readonly codeWatch: Pick<CodeWatch, 'hostOf'>;
  readonly portables: Pick<Portables, 'load'>;
}

/** Target that a node asks: a table or a service by keys, or a function on a thread of its own row by row. */
export interface Asked extends Lookup {
  askEach?(args: CarriedColumns, field: string, signal: AbortSignal, asker: Asker): Promise<LookupAnswer>;
  /** Sentence for people while the other side is down; empty otherwise. */
  trouble?(): string;
}

/** What a node asks, and where that is renewed. */
interface AskedTable {
  readonly tables: AskedTables;
  lookup: Asked;
  readonly partOf: (type: string) => AskedPart;
}

interface Entry {
  readonly lookup: Asked;
  /** The function behind the lookup; undefined for a table. */
  readonly called?: Promise<AskedFunction | IsolatedFunction | LibraryFunction | PortableFunction> | undefined;
  users: number;
}

/** Tables that are asked, as long as rules use them. */
export class AskedTables {
  readonly #entries = new Map<string, Entry>();
  #services: SharedServices | undefined;

  constructor(private readonly host: AskedTablesHost) {}

  use(spec: LookupSpec, partOf: (type: string) => AskedPart): Asked {
    const key = keyOf(spec);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { ...this.#open(spec, partOf), users: 0 };
      this.#entries.set(key, entry);
    }
    entry.users++;
    return entry.lookup;
  }

  /** Makes what lies between a node and its table, which it uses. */
  asking(
    node: NodeHandle,
    plan: AskPlan,
    spec: LookupSpec,
    partOf: (type: string) => AskedPart,
    host: WaitingHost,
  ): Asking {
    return new Asking(node, plan, spec, { tables: this, lookup: this.use(spec, partOf), partOf }, host);
  }

  #open(spec: LookupSpec, partOf: (type: string) => AskedPart): Pick<Entry, 'lookup' | 'called'> {
    const { call } = spec;
    // Most data planes ask no functions.
    if (call !== undefined && call.code.kind !== 'service') {
      const called = this.#byRow(call);
      const ask = () => Promise.reject(new Error(`function ${call.name} is asked row by row`));
      const askEach: Asked['askEach'] = async (...asked) => (await called).ask(...asked);
      return { lookup: { ask, askEach, close: async () => (await called).close() }, called };
    }
    if (call !== undefined) {
      let fn: AskedFunction | undefined;
      const called = this.#service(call).then((made) => {
        fn = made;
        return made;
      });
      const ask: Lookup['ask'] = async (request, signal) => (await called).ask(request, signal);
      const lookup = { ask, trouble: () => fn?.trouble ?? '', close: async () => (await called).close() };
      return { lookup, called };
    }
    const log = redactedLog(this.host.log, redactOf(spec.secrets));
    const context = { dataSource: spec.dataSource, log, paths: this.host.paths };
    const shared: AskedTablesHost['shared'] = (name, make) => this.host.shared(name, make);
    return { lookup: partOf(spec.type).create(spec.props, { ...context, shared }) };
  }

  #byRow(call: UserFunction): Promise<IsolatedFunction | LibraryFunction | PortableFunction> {
    if (call.code.kind === 'library') return this.#library(call);
    return call.code.kind === 'portable' ? this.#portable(call) : this.#isolatedOf(call);
  }

  async #portable(call: UserFunction): Promise<PortableFunction> {
    const { PortableFunction } = await import('./portable-function.js');
    return new PortableFunction(call, await this.host.portables.load());
  }

  async #isolatedOf(call: UserFunction): Promise<IsolatedFunction> {
    const { IsolatedFunction, IsolatedModules } = await import('./isolated-function.js');
    return new IsolatedFunction(call, IsolatedModules.of(this.host));
  }

  async #service(call: UserFunction): Promise<AskedFunction> {
    const module = await import('./asked-function.js');
    this.#services ??= new module.SharedServices((line) => this.host.log.warn(line));
    return new module.AskedFunction(call, this.#services);
  }

  async #library(call: UserFunction): Promise<LibraryFunction> {
    const { LibraryFunction } = await import('./library-function.js');
    return new LibraryFunction(call);
  }

  /**
   * Makes ready what is loaded before it is asked: packages, modules on threads of their own. Rejects with the reason
   * when one does not load; what it resolves with is to be called when the tables are in use, or are not wanted any
   * more.
   */
  async hold(specs: readonly LookupSpec[], partOf: (type: string) => AskedPart): Promise<() => void> {
    const held = specs.filter(({ call }) => call !== undefined && call.code.kind !== 'service');
    for (const spec of held) this.use(spec, partOf);
    const leave = () => {
      for (const spec of held) this.leave(spec);
    };
    try {
      for (const spec of held) await (await this.#entries.get(keyOf(spec))?.called)?.ready();
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  /** Figures of the interfaces of services that were called. */
  get serviceFigures(): ServiceFigures[] {
    return this.#services?.figures() ?? [];
  }

  /** Gives functions that answer later the new code of their owner, or none (null). */
  replace(owner: string, functions: readonly UserFunction[] | null): void {
    for (const { called } of this.#entries.values()) {
      void called?.then((fn) => {
        if (fn.owner === owner) fn.replace(functions);
      });
    }
  }

  leave(spec: LookupSpec): void {
    const key = keyOf(spec);
    const entry = this.#entries.get(key);
    if (entry === undefined || --entry.users > 0) return;
    this.#entries.delete(key);
    entry.lookup.close().catch((error: unknown) => {
      this.host.log.warn(`closing the lookup table ${spec.name} failed: ${reasonOf(error)}`);
    });
  }
}

function keyOf(spec: LookupSpec): string {
  return spec.call === undefined ? JSON.stringify(spec) : `function ${spec.call.number}`;
}

type AskPlan = Extract<NodePlan, { kind: 'ask' }>;

/** A node that asks, and its table. */
export class Asking extends Waiting {
  readonly #names: readonly string[];
  readonly #fields: readonly string[] | null;
  /** Columns whose numbers are whole, by their declared type. */
  readonly #whole: ReadonlySet<string>;
  readonly #ending = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(
    node: NodeHandle,
    plan: AskPlan,
    override spec: LookupSpec,
    private readonly asked: AskedTable,
    host: WaitingHost,
  ) {
    super(node, spec.waiting.batches, `answers of ${nameOf(spec)}`, host);
    this.#names = plan.keys.map(({ name }) => name);
    const isWhole = plan.fields.some(({ kind }) => kind === 'row');
    const fields = plan.fields.flatMap((use) => (use.kind === 'field' ? [use] : []));
    const keys = plan.condition === null && !isWhole ? [] : this.#names;
    this.#fields = isWhole ? null : [...new Set([...fields.map(({ name }) => name), ...keys])];
    this.#whole = new Set(fields.filter(({ type }) => type.type === 'bigint').map(({ name }) => name));
  }

  get redact(): Redact {
    return redactOf(this.spec.secrets);
  }

  /** Also that of a service which is down: its rows are errors, and do not wait. */
  override get trouble(): string {
    return this.asked.lookup.trouble?.() || super.trouble;
  }

  /** Asks with the new properties of its table, if no more differs than may; answers under way still come. */
  override renew(specs: readonly LookupSpec[]): void {
    const { spec: former, asked } = this;
    const { tables, partOf } = asked;
    const spec = specs.find(({ name }) => name === former.name);
    if (spec === undefined || former.call !== undefined || keyOf(spec) === keyOf(former)) return;
    if (!isSameOtherwise(former, spec) || partOf(spec.type).renewed(former.props, spec.props) === undefined) return;
    asked.lookup = tables.use(spec, partOf);
    this.spec = spec;
    void Promise.allSettled(this.#underWay).then(() => tables.leave(former));
  }

  /** Called by the kernel, which must not be called then. */
  override ask(request: number, keys: readonly (readonly Value[])[], count: number): void {
    const asked = { names: this.#names, keys, count, fields: this.#fields };
    this.#await(request, count, () => this.asked.lookup.ask(asked, this.#ending.signal));
  }

  override askEach(request: number, keys: CarriedColumns): void {
    const [field = ''] = this.#fields ?? [];
    const { lookup } = this.asked;
    this.#await(request, keys.count, () => {
      if (lookup.askEach === undefined) throw new Error(`${nameOf(this.spec)} is asked by keys`);
      const asker = { rule: this.host.rule.id, node: this.node };
      return lookup.askEach(keys, field, this.#ending.signal, asker);
    });
  }

  #await(request: number, count: number, ask: () => Promise<LookupAnswer>): void {
    const fail = (error: unknown) => this.#deliver(request, failed(count, this.redact(reasonOf(error))), count);
    let answer: Promise<LookupAnswer>;
    try {
      answer = Promise.resolve(ask());
    } catch (error) {
      answer = Promise.reject(error);
    }
    const done = () => void this.#underWay.delete(answer);
    this.#underWay.add(answer);
    answer.then(done, done);
    answer.then((rows) => this.#deliver(request, rows, count), fail);
  }

  #deliver(request: number, answer: LookupAnswer, count: number): void {
    // The kernel may be in the middle of a call.
    setImmediate(() => {
      if (this.#ending.signal.aborted) return;
      const { host } = this;
      const given = this.#checked(answer, count);
      host.work(() => void host.kernel.answer(this.node, request, given, host.now()));
    });
  }

  /** The answer with numbers as they are declared; one that is none is a failure of all lists. */
  #checked(answer: LookupAnswer, count: number): LookupAnswer {
    const reason = faultOf(answer, count);
    if (reason !== undefined) return failed(count, `${nameOf(this.spec)} gave no answer: ${reason}`);
    if (this.#whole.size === 0) return answer;
    const columns = Object.entries(answer.columns).map(([name, values]) => [
      name,
      this.#whole.has(name) && !(values instanceof CarriedColumn) ? Array.from(values, wholeNumber) : values,
    ]);
    return { ...answer, columns: Object.fromEntries(columns) };
  }

  override close(): void {
    this.#ending.abort();
    super.close();
  }
}

function nameOf({ name, call }: LookupSpec): string {
  return call === undefined ? `the lookup table ${name}` : `function ${name}`;
}

function failed(count: number, reason: string): LookupAnswer {
  return { of: [], columns: {}, failed: new Map(Array.from({ length: count }, (_, i) => [i, reason])) };
}

/** Fault of an answer; undefined for a valid one. */
function faultOf(answer: LookupAnswer, count: number): string | undefined {
  const { of, columns, failed } = (answer ?? {}) as Partial<LookupAnswer>;
  if (typeof of?.length !== 'number' || typeof columns !== 'object' || columns === null) return 'it has no columns';
  for (const [name, values] of Object.entries(columns)) {
    if (typeof values === 'string') return `what it has of ${name} is a text, not a list`;
    if (values?.length !== of.length)
      return `it has ${of.length} rows, but ${values?.length ?? 'no'} values of ${name}`;
  }
  if (failed !== undefined && !(failed instanceof Map)) return 'what failed is no map';
  for (const [, reason] of failed ?? []) if (typeof reason !== 'string') return 'the reason of a failure is no text';
  for (let i = 0; i < of.length; i++) {
    const list = of[i];
    if (!Number.isInteger(list) || (list as number) < 0 || (list as number) >= count)
      return `row ${i} answers nothing that was asked`;
  }
  return undefined;
}

function wholeNumber(value: Value): Value {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}
