/** Several kinds of resources in one map of the export document: `<kind>_<name>`. */
import { transferErrors } from './errors.js';
import type { Exportable, Prepared } from './exportable.js';

export class PrefixedItems implements Exportable {
  readonly #members: ReadonlyMap<string, Exportable>;

  /** `members` are found by the prefix of their names, without the underscore. */
  constructor(members: Readonly<Record<string, Exportable>>) {
    this.#members = new Map(Object.entries(members));
  }

  async export(): Promise<Record<string, string>> {
    const entries: [string, string][] = [];
    for (const [prefix, member] of this.#members) {
      for (const [name, text] of Object.entries(await member.export())) entries.push([`${prefix}_${name}`, text]);
    }
    return Object.fromEntries(entries);
  }

  async check(key: string, value: string, isReset: boolean): Promise<Prepared> {
    const { member, name } = this.#find(key);
    return member.check(name, value, isReset);
  }

  async clear(kept: ReadonlySet<string>): Promise<Prepared> {
    const cleared: Prepared[] = [];
    for (const [prefix, member] of this.#members) {
      const own = [...kept].filter((key) => key.startsWith(`${prefix}_`)).map((key) => key.slice(prefix.length + 1));
      cleared.push(await member.clear(new Set(own)));
    }
    return {
      changes: cleared.flatMap(({ changes }) => changes),
      apply: async () => {
        for (const { apply } of cleared) await apply?.();
      },
      discard: async (reason) => {
        for (const { discard } of cleared) await discard?.(reason);
      },
    };
  }

  #find(key: string): { member: Exportable; name: string } {
    const at = key.indexOf('_');
    const member = at < 0 ? undefined : this.#members.get(key.slice(0, at));
    if (member !== undefined) return { member, name: key.slice(at + 1) };
    const known = [...this.#members.keys()].map((prefix) => `${prefix}_<name>`).join(', ');
    throw transferErrors.pluginName(key, known);
  }
}
