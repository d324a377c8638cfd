/**
 * Imports: every item is checked before anything changes, rules against the definitions as they will be; then all
 * changes are written in one transaction, and what lives beside the store (files, running rules) follows.
 */
import { isLater, reasonOf } from '../../base/errors.js';
import { beyondBounds } from '../../base/text/json-bounds.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { RuleJson } from '../definitions/rule-definition.js';
import type { Store, StoreChange } from '../store.js';
import type { Items } from './document.js';
import { transferErrors } from './errors.js';
import type { Exportable, Prepared } from './exportable.js';
import { type SectionName, sectionNames } from './sections.js';

/** A rule of an import that can be read. */
export interface ReadRule {
  readonly rule: RuleDefinition;
  readonly json: RuleJson;
  /** Whether planning the rule takes long. */
  readonly isLarge: boolean;
}

type Within = <T>(look: () => T) => T;

/** Rules as an import sees them: they are planned when everything else is known. */
export interface RuleItems {
  export(): Record<string, string>;
  ids(): string[];
  /** Reads a rule, within `Store.pretend`; throws the reason of a refusal. */
  read(id: string, text: string): ReadRule;
  /** Plans a large rule away from this thread; each look at the store is within `within`. Rejects as `check` throws. */
  prepare(rule: ReadRule, within: Within, signal: AbortSignal | undefined): Promise<void>;
  /** Plans a rule, within `Store.pretend`; returns what to store. Throws the reason of a refusal. */
  check(rule: ReadRule): readonly StoreChange[];
  /** Changes that delete a stored rule. */
  removal(id: string): readonly StoreChange[];
  /** Takes a rule out of the engine whose definition is gone. */
  release(id: string): Promise<void>;
  /** Gives the engine a rule whose definition is new, and starts it if it is to run. */
  adopt(id: string): Promise<void>;
}

export interface ImportTarget {
  readonly store: Store;
  readonly sections: Readonly<Partial<Record<Exclude<SectionName, 'rules'>, Exportable>>>;
  readonly rules: RuleItems;
}

export interface ImportOptions {
  /** Everything that is there now is removed; otherwise items of the same name are replaced and the rest stays. */
  readonly isReset: boolean;
  /** Whether one refused item leaves everything as it was; otherwise the other items are imported. */
  readonly isStrict: boolean;
  /** Checks only. */
  readonly isDryRun: boolean;
  /** Signal that ends the import, unless the changes are written already. */
  readonly signal?: AbortSignal;
}

/** Reasons by section and name. */
export type Failures = Map<SectionName, Map<string, string>>;

/** Order in which items are checked and applied: what others refer to comes first. */
const order = [
  'uploads',
  'Schema',
  'nativePlugins',
  'portablePlugins',
  'Service',
  'scripts',
  'sourceConfig',
  'sinkConfig',
  'connectionConfig',
  'streams',
  'tables',
] as const;

/** Items checked or rules planned between two turns of the event loop, and how long that may take. */
const turnItems = 32;
const turnMs = 20;

interface Accepted {
  readonly section: Exclude<SectionName, 'rules'>;
  readonly name: string;
  readonly prepared: Prepared;
}

/** Runs one import; resolves with what was refused or could not be applied, sections without failures left out. */
export async function runImport(
  target: ImportTarget,
  items: Items<unknown>,
  options: ImportOptions,
): Promise<Failures> {
  const run = new ImportRun(target, items, options);
  try {
    return await run.run();
  } catch (error) {
    await run.discard(error);
    throw error;
  }
}

/** Tells whether nothing failed. */
export function isClean(failures: Failures): boolean {
  return failures.size === 0;
}

class ImportRun {
  readonly #target: ImportTarget;
  readonly #items: Items<unknown>;
  readonly #options: ImportOptions;
  readonly #failures: Failures = new Map();
  readonly #accepted: Accepted[] = [];
  /** Functions of the accepted items, in lower case, with the item that brings each. */
  readonly #functions = new Map<string, string>();
  /** Removals of what is not part of the import. */
  readonly #cleared: Accepted[] = [];
  #isWritten = false;
  #steps = 0;
  /** When the turn began. */
  #since = performance.now();

  constructor(target: ImportTarget, items: Items<unknown>, options: ImportOptions) {
    this.#target = target;
    this.#items = items;
    this.#options = options;
  }

  async run(): Promise<Failures> {
    const { isReset, isStrict, isDryRun } = this.#options;
    const { store, rules } = this.#target;
    for (const section of order) await this.#checkSection(section);
    const removed = isReset ? rules.ids() : [];
    const changes = [...this.#cleared, ...this.#accepted].flatMap(({ prepared }) => prepared.changes);
    const taken = await this.#checkRules(changes);
    if (isDryRun || (isStrict && !isClean(this.#failures))) {
      await this.discard();
      return this.#failures;
    }
    this.#options.signal?.throwIfAborted();
    const removals = removed.flatMap((id) => rules.removal(id));
    await store.batch([...changes, ...removals, ...[...taken.values()].flat()]);
    this.#isWritten = true;
    await this.#apply(removed, [...taken.keys()]);
    return this.#failures;
  }

  /** Takes back what checks have laid down; for imports that change nothing. */
  async discard(reason?: unknown): Promise<void> {
    if (this.#isWritten) return;
    for (const { prepared } of [...this.#accepted, ...this.#cleared]) await prepared.discard?.(reason);
  }

  async #checkSection(section: (typeof order)[number]): Promise<void> {
    const { isReset } = this.#options;
    const owner = this.#target.sections[section];
    const kept = new Set<string>();
    for (const [name, value] of this.#items.get(section) ?? []) {
      await this.#turn();
      await this.#attempt(section, name, async () => {
        if (owner === undefined) throw transferErrors.noOwner(section);
        if (section === 'tables' && this.#items.get('streams')?.has(name)) {
          throw transferErrors.nameOfStream(name);
        }
        const prepared = await owner.check(name, textOf(section, name, value), isReset);
        try {
          this.#takeFunctions(prepared.functions ?? [], `${section} ${name}`);
        } catch (error) {
          await prepared.discard?.();
          throw error;
        }
        this.#accepted.push({ section, name, prepared });
        kept.add(name);
      });
    }
    if (isReset && owner !== undefined) {
      this.#cleared.push({ section, name: 'removal', prepared: await owner.clear(kept) });
    }
  }

  /** Throws when another item of the import brings a function of one of the names. */
  #takeFunctions(names: readonly string[], owner: string): void {
    for (const name of names) {
      const other = this.#functions.get(name.toLowerCase());
      if (other !== undefined) throw transferErrors.functionTaken(name, other);
    }
    for (const name of names) this.#functions.set(name.toLowerCase(), owner);
  }

  /** Plans the rules as if the changes were made; returns what to store for those that are accepted. */
  async #checkRules(changes: readonly StoreChange[]): Promise<Map<string, readonly StoreChange[]>> {
    const { store, rules } = this.#target;
    const taken = new Map<string, readonly StoreChange[]>();
    const { signal } = this.#options;
    const waiting = [...(this.#items.get('rules') ?? [])];
    const within: Within = (look) => store.pretend(changes, look);
    for (let next = 0; next < waiting.length; ) {
      let large: readonly [id: string, rule: ReadRule] | undefined;
      within(() => {
        const end = performance.now() + turnMs;
        const most = next + turnItems;
        while (large === undefined && next < Math.min(most, waiting.length) && performance.now() < end) {
          const [id, value] = waiting[next++]!;
          try {
            const rule = rules.read(id, textOf('rules', id, value));
            if (rule.isLarge) large = [id, rule];
            else taken.set(id, rules.check(rule));
          } catch (error) {
            this.#fail('rules', id, error);
          }
        }
      });
      if (large !== undefined) {
        const [id, rule] = large;
        await this.#attempt('rules', id, async () => {
          await rules.prepare(rule, within, signal);
          taken.set(
            id,
            within(() => rules.check(rule)),
          );
        });
      }
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    }
    return taken;
  }

  /** The definitions are on disk: the rest of the server follows. Failures are told, but take nothing back. */
  async #apply(removed: readonly string[], taken: readonly string[]): Promise<void> {
    const { rules } = this.#target;
    const isTaken = new Set(taken);
    const gone = removed.filter((id) => !isTaken.has(id));
    await inSlices(gone, (id) => rules.release(id));
    for (const { section, name, prepared } of [...this.#cleared, ...this.#accepted]) {
      await this.#attempt(section, name, async () => prepared.apply?.());
    }
    await inSlices(taken, (id) => this.#attempt('rules', id, () => rules.adopt(id)));
  }

  async #attempt(section: SectionName, name: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      // A temporary failure is no fault of the item: nothing is changed, and the same import may succeed later.
      if (!this.#isWritten && isLater(error)) throw error;
      this.#fail(section, name, error);
    }
  }

  #fail(section: SectionName, name: string, error: unknown): void {
    const failures = this.#failures.get(section) ?? new Map<string, string>();
    this.#failures.set(section, failures);
    failures.set(name, reasonOf(error));
  }

  /** Lets requests in between the items, and ends the run when nobody wants it any more. */
  async #turn(): Promise<void> {
    if (++this.#steps < turnItems && performance.now() - this.#since < turnMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#steps = 0;
    this.#since = performance.now();
    this.#options.signal?.throwIfAborted();
  }
}

/** Collects all items of all sections. */
export async function exportAll({ sections, rules }: ImportTarget): Promise<Items<string>> {
  const items = new Map<SectionName, ReadonlyMap<string, string>>();
  for (const section of sectionNames) {
    const values = section === 'rules' ? rules.export() : await sections[section]?.export();
    items.set(section, new Map(Object.entries(values ?? {})));
  }
  return items;
}

function textOf(section: SectionName, name: string, value: unknown): string {
  if (typeof value === 'string') {
    const fault = beyondBounds(Buffer.from(value));
    if (fault === undefined) return value;
    throw transferErrors.value(name, fault);
  }
  const given = JSON.stringify(value)?.slice(0, 60);
  throw transferErrors.notText(name, section, given);
}

async function inSlices(ids: readonly string[], step: (id: string) => Promise<void>): Promise<void> {
  for (let i = 0; i < ids.length; i += turnItems) {
    await Promise.all(ids.slice(i, i + turnItems).map(step));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
